#include "executor/compare/cuda_compare.h"

#include <algorithm>
#include <string>

#include "executor/aten/cuda_jit.h"

namespace kw::exec {
namespace {

// The elements are a matrix of R rows and C columns. A block takes a tile of width x kColumns
// columns and tile_rows rows; a thread takes some columns of each row. GOT and ORACLE are element
// types.
//
// Sums of squares are float64 throughout, so the order of additions (atomics) moves them by a few
// units of the 53rd bit. The kernel is bound by arithmetic, not by memory. So a thread counts in
// integers, takes maxima of magnitudes by their bits, and keeps work for values that are not finite
// off the usual path. Loads come before their use, so that they overlap.
constexpr const char* kCompareSource = R"cuda(
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct half_t { u16 x; };
struct bfloat16_t { u16 x; };

__device__ double wide(double x) { return x; }
__device__ double wide(float x) { return x; }
__device__ double wide(half_t x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.x));
  return y;
}
__device__ double wide(bfloat16_t x) { return __int_as_float(int(x.x) << 16); }
__device__ u64 bits(double x) { return __double_as_longlong(x); }
__device__ u32 bits(float x) { return __float_as_uint(x); }
__device__ u16 bits(half_t x) { return x.x; }
__device__ u16 bits(bfloat16_t x) { return x.x; }
__device__ bool is_finite(double x) {
  return (__double_as_longlong(x) & 0x7ff0000000000000ll) != 0x7ff0000000000000ll;
}
__device__ bool is_nan(double x) { return x != x; }

constexpr int kThreads = 256, kColumns = 4, kSums = 10;
// Of the ten sums, those that are maxima.
__device__ bool is_maximum(int which) { return which == 1 || which == 3 || which == 9; }

__device__ double joined(double a, double b, bool maximum) {
  return maximum ? (a < b ? b : a) : a + b;
}

// The larger of two magnitudes, as bits.
__device__ void raise(u64& most, double magnitude) {
  const u64 x = __double_as_longlong(magnitude);
  most = x > most ? x : most;
}

// Adds `sums` of all lanes of a warp: lane 8 i has the total of sums[i]. Six exchanges, not twenty.
__device__ double add_up(const double (&sums)[4]) {
  const bool second = threadIdx.x & 16, odd = threadIdx.x & 8;
  double a = second ? sums[2] : sums[0], b = second ? sums[3] : sums[1];
  a += __shfl_xor_sync(0xffffffffu, second ? sums[0] : sums[2], 16);
  b += __shfl_xor_sync(0xffffffffu, second ? sums[1] : sums[3], 16);
  double c = odd ? b : a;
  c += __shfl_xor_sync(0xffffffffu, odd ? a : b, 8);
  for (int step = 4; step > 0; step /= 2) c += __shfl_xor_sync(0xffffffffu, c, step);
  return c;
}

// sums: [gridDim.x][kSums]. row_sums: [4][R], column_sums: [4][C], or null.
extern "C" __global__ void compare(const GOT* got, const GOT* expected, const ORACLE* oracle,
                                   i64 R, i64 C, i64 count, int width, i64 tile_rows, double* sums,
                                   double* row_sums, double* column_sums) {
  const int x = threadIdx.x % width, y = threadIdx.x / width, deep = kThreads / width;
  const i64 across = (C + i64(width) * kColumns - 1) / (i64(width) * kColumns);
  const i64 down = (R + tile_rows - 1) / tile_rows;
  const int lanes = width < 32 ? width : 32;
  double error_sum = 0, oracle_sum = 0, allclose_worst = 0;
  u64 error_max = 0, oracle_max = 0, both = 0, oracles = 0, sound = 0, different = 0, nonfinite = 0;
  for (i64 tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
    const i64 first_column = (tile % across) * width * kColumns;
    const i64 first_row = (tile / across) * tile_rows;
    double columns[kColumns][4];
    for (int k = 0; k < kColumns; ++k)
      for (int s = 0; s < 4; ++s) columns[k][s] = 0;
    // Every thread of a warp makes every round: they add up their rows together.
    for (i64 round = 0; round < tile_rows; round += deep) {
      const i64 row = first_row + round + y;
      const bool in_row = round + y < tile_rows && row < R;
      double rows[4] = {0, 0, 0, 0};
      GOT gs[kColumns], es[kColumns];
      ORACLE os[kColumns];
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        const i64 column = first_column + k * width + x, at = row * C + column;
        if (!in_row || column >= C || at >= count) continue;
        gs[k] = got[at], es[k] = expected[at], os[k] = oracle[at];
      }
#pragma unroll
      for (int k = 0; k < kColumns; ++k) {
        const i64 column = first_column + k * width + x, at = row * C + column;
        if (!in_row || column >= C || at >= count) continue;
        const double g = wide(gs[k]), e = wide(es[k]), o = wide(os[k]);
        const bool g_ok = is_finite(g), e_ok = is_finite(e), o_ok = is_finite(o);
        const bool fine = g_ok && e_ok && o_ok;
        const double error = g_ok && o_ok ? g - o : 0.0, scale = o_ok ? o : 0.0;
        error_sum += error * error;
        raise(error_max, fabs(error));
        oracle_sum += scale * scale;
        raise(oracle_max, fabs(scale));
        both += g_ok && o_ok;
        oracles += o_ok;
        sound += (g_ok && o_ok) || (!fine && g == o);
        different += bits(gs[k]) != bits(es[k]);
        if (!fine) {
          const bool one_infinite = (!g_ok && !is_nan(g)) || (!e_ok && !is_nan(e));
          nonfinite += is_nan(g) != is_nan(e) || (one_infinite && g != e);
        }
        if (g_ok && e_ok) {
          const double off = fabs(g - e), room = fabs(e) * 1e-2 + 1e-2;
          if (off > allclose_worst * room) allclose_worst = off / room;  // a division is rare
        }
        if (row_sums && fine) {
          const double theirs = e - o;
          const double four[4] = {error * error, theirs * theirs, o * o, 1.0};
          for (int s = 0; s < 4; ++s) rows[s] += four[s], columns[k][s] += four[s];
        }
      }
      if (!row_sums) continue;
      if (lanes == 32) {  // one row a warp
        const double total = add_up(rows);
        if (threadIdx.x % 8 == 0 && in_row && total != 0)
          atomicAdd(&row_sums[threadIdx.x / 8 % 4 * R + row], total);
        continue;
      }
      for (int s = 0; s < 4; ++s)
        for (int step = lanes / 2; step > 0; step /= 2)
          rows[s] += __shfl_down_sync(0xffffffffu, rows[s], step, lanes);
      if (x % lanes != 0 || !in_row || rows[3] == 0) continue;
      for (int s = 0; s < 4; ++s) atomicAdd(&row_sums[s * R + row], rows[s]);
    }
    if (!row_sums) continue;
    for (int k = 0; k < kColumns; ++k) {
      const i64 column = first_column + k * width + x;
      if (column >= C || columns[k][3] == 0) continue;
      for (int s = 0; s < 4; ++s) atomicAdd(&column_sums[s * C + column], columns[k][s]);
    }
  }
  double all[kSums] = {error_sum, __longlong_as_double(error_max),
                       oracle_sum, __longlong_as_double(oracle_max),
                       double(both), double(oracles), double(sound),
                       double(different), double(nonfinite), allclose_worst};
  __shared__ double shared[kThreads / 32][kSums];
  for (int s = 0; s < kSums; ++s) {
    for (int step = 16; step > 0; step /= 2)
      all[s] = joined(all[s], __shfl_down_sync(0xffffffffu, all[s], step), is_maximum(s));
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32][s] = all[s];
  }
  __syncthreads();
  if (threadIdx.x < kSums) {
    const int s = threadIdx.x;
    double value = shared[0][s];
    for (int w = 1; w < kThreads / 32; ++w) value = joined(value, shared[w][s], is_maximum(s));
    sums[i64(blockIdx.x) * kSums + s] = value;
  }
}
)cuda";

constexpr int64_t kThreads = 256, kColumns = 4, kSums = 10;  // the same as in the source
constexpr int64_t kMostColumns = int64_t{1} << 25;           // 1 GiB of sums

const char* type_name(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "double";
    case at::kFloat:
      return "float";
    case at::kHalf:
      return "half_t";
    case at::kBFloat16:
      return "bfloat16_t";
    default:
      return nullptr;
  }
}

// Returns the kernel for types that have a name, or null if it cannot be compiled.
CUfunction function_for(at::ScalarType got, at::ScalarType oracle) {
  return jit_function(
      kCompareSource, "compare",
      {std::string("-DGOT=") + type_name(got), std::string("-DORACLE=") + type_name(oracle)});
}

// Returns the dimension at which columns begin. It takes as few inner dimensions as give 64
// columns, which is enough for a coalesced read.
int64_t split_of(at::IntArrayRef sizes) {
  int64_t columns = 1, split = static_cast<int64_t>(sizes.size());
  while (split > 1 && columns < 64) columns *= sizes[--split];
  return split;
}

int64_t product(at::IntArrayRef sizes, int64_t begin, int64_t end) {
  int64_t out = 1;
  for (int64_t d = begin; d < end; ++d) out *= sizes[d];
  return out;
}

// Appends [4, size] for each dimension in [begin, end), from sums [4, product of these sizes].
void add_dims(const at::Tensor& sums, at::IntArrayRef sizes, int64_t begin, int64_t end,
              std::vector<at::Tensor>& out) {
  std::vector<int64_t> shape = {4};
  shape.insert(shape.end(), sizes.begin() + begin, sizes.begin() + end);
  const at::Tensor apart = sums.reshape(shape);
  for (int64_t d = 1; d < apart.dim(); ++d) {
    std::vector<int64_t> others;
    for (int64_t o = 1; o < apart.dim(); ++o) {
      if (o != d) others.push_back(o);
    }
    out.push_back(others.empty() ? apart : apart.sum(others));
  }
}

// Copies many small tensors to the host by one transfer.
std::vector<at::Tensor> on_host(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> flat, out;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.reshape({-1}));
  const at::Tensor all = at::cat(flat).cpu();
  int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    out.push_back(all.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
  return out;
}

}  // namespace

std::optional<Comparison> compare_on_cuda(const at::Tensor& got, const at::Tensor& expected,
                                          const at::Tensor& oracle, bool sections) {
  Comparison out;
  if (got.numel() == 0) return out;
  if (!type_name(got.scalar_type()) || !type_name(oracle.scalar_type())) return std::nullopt;
  const at::Device device = at::kCUDA;
  const auto here = [&](const at::Tensor& t) { return t.to(device).contiguous(); };
  const at::Tensor g = here(got), e = here(expected), o = here(oracle);
  const CUfunction function = function_for(got.scalar_type(), oracle.scalar_type());
  if (!function) return std::nullopt;
  const at::IntArrayRef sizes = g.sizes();
  int64_t elements = g.numel();
  const int64_t split = split_of(sizes);
  const bool vector = g.dim() == 1;
  sections = sections && g.dim() > 0;
  int64_t columns = !sections ? 1024
                    : vector  ? vector_step(elements)
                              : product(sizes, split, g.dim());
  int64_t rows = (elements + columns - 1) / columns;
  if (sections && columns > kMostColumns) return std::nullopt;
  int width = 1;
  while (width < kThreads && width * kColumns < columns) width *= 2;
  // Long tiles spare atomics, many tiles keep the device busy.
  const int64_t across = (columns + width * kColumns - 1) / (width * kColumns);
  const int64_t deep = kThreads / width;
  int64_t tile_rows =
      std::clamp<int64_t>(rows * across / (8 * 132), deep, std::max<int64_t>(deep, 512));
  const int64_t tiles = across * ((rows + tile_rows - 1) / tile_rows);
  const int64_t blocks = std::min<int64_t>(tiles, 8 * 132);

  const auto options = at::TensorOptions().dtype(at::kDouble).device(device);
  const at::Tensor sums = at::empty({blocks, kSums}, options);
  const at::Tensor row_sums = sections ? at::zeros({4, rows}, options) : at::Tensor();
  const at::Tensor column_sums = sections ? at::zeros({4, columns}, options) : at::Tensor();
  const void *g_data = g.const_data_ptr(), *e_data = e.const_data_ptr(),
             *o_data = o.const_data_ptr();
  void* sums_data = sums.data_ptr();
  void* row_data = sections ? row_sums.data_ptr() : nullptr;
  void* column_data = sections ? column_sums.data_ptr() : nullptr;
  JitLaunch{function, "compare", blocks, kThreads}(g_data, e_data, o_data, rows, columns, elements,
                                                   width, tile_rows, sums_data, row_data,
                                                   column_data);

  const at::Tensor by_block = sums.cpu();
  double s[kSums] = {}, m[kSums] = {};  // sums, and maxima
  for (int64_t i = 0; i < by_block.numel(); ++i) {
    const double value = by_block.const_data_ptr<double>()[i];
    s[i % kSums] += value;
    m[i % kSums] = std::max(m[i % kSums], value);
  }
  out.error_sum = s[0], out.error_max = m[1];
  out.oracle_sum = s[2], out.oracle_max = m[3];
  out.both = static_cast<int64_t>(s[4]), out.oracles = static_cast<int64_t>(s[5]);
  out.sound = static_cast<int64_t>(s[6]);
  out.different = static_cast<int64_t>(s[7]), out.nonfinite = static_cast<int64_t>(s[8]);
  out.allclose_worst = m[9];
  if (!sections || out.different == 0) return out;
  if (vector) {
    out.sections.push_back(row_sums);
  } else {
    add_dims(row_sums, sizes, 0, split, out.sections);
    add_dims(column_sums, sizes, split, g.dim(), out.sections);
  }
  out.sections = on_host(out.sections);
  return out;
}

}  // namespace kw::exec
