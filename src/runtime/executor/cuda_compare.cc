#include "runtime/executor/cuda_compare.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "runtime/executor/cuda_driver.h"

namespace kw {
namespace {

// Elements as a matrix of R rows and C columns. A block takes a tile of kWidth x kColumns columns
// and as many rows as fit; a thread some columns of each row. GOT and ORACLE are element types.
//
// Sums of squares are float64 throughout, so the order of additions (atomics) moves them by a few
// units of the 53rd bit.
constexpr const char* kSource = R"cuda(
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

// sums: [gridDim.x][kSums]. row_sums: [4][R], column_sums: [4][C], or null.
extern "C" __global__ void compare(const GOT* got, const GOT* expected, const ORACLE* oracle,
                                   i64 R, i64 C, i64 count, int width, i64 tile_rows, double* sums,
                                   double* row_sums, double* column_sums) {
  const int x = threadIdx.x % width, y = threadIdx.x / width, deep = kThreads / width;
  const i64 across = (C + i64(width) * kColumns - 1) / (i64(width) * kColumns);
  const i64 down = (R + tile_rows - 1) / tile_rows;
  const int lanes = width < 32 ? width : 32;
  double all[kSums];
  for (int s = 0; s < kSums; ++s) all[s] = 0;
  for (i64 tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
    const i64 first_column = (tile % across) * width * kColumns;
    const i64 first_row = (tile / across) * tile_rows;
    double columns[kColumns][4];
    for (int k = 0; k < kColumns; ++k)
      for (int s = 0; s < 4; ++s) columns[k][s] = 0;
    // Every thread of a warp makes every round: they add up their rows together.
    for (i64 round = 0; round < tile_rows; round += deep) {
      const i64 row = first_row + round + y;
      double rows[4] = {0, 0, 0, 0};
      for (int k = 0; k < kColumns; ++k) {
        const i64 column = first_column + k * width + x, at = row * C + column;
        if (round + y >= tile_rows || row >= R || column >= C || at >= count) continue;
        const double g = wide(got[at]), e = wide(expected[at]), o = wide(oracle[at]);
        const bool g_ok = is_finite(g), e_ok = is_finite(e), o_ok = is_finite(o);
        const double error = g_ok && o_ok ? g - o : 0.0, scale = o_ok ? o : 0.0;
        const double size = fabs(error), far = fabs(scale);
        all[0] += error * error;
        all[1] = joined(all[1], size, true);
        all[2] += scale * scale;
        all[3] = joined(all[3], far, true);
        all[4] += g_ok && o_ok;
        all[5] += o_ok;
        all[6] += (g_ok && o_ok) || g == o;
        all[7] += bits(got[at]) != bits(expected[at]);
        const bool one_infinite = (!g_ok && !is_nan(g)) || (!e_ok && !is_nan(e));
        all[8] += is_nan(g) != is_nan(e) || (one_infinite && g != e);
        if (g_ok && e_ok)
          all[9] = joined(all[9], fabs(g - e) / (fabs(e) * 1e-2 + 1e-2), true);
        if (row_sums && g_ok && e_ok && o_ok) {
          const double theirs = e - o;
          const double four[4] = {error * error, theirs * theirs, o * o, 1.0};
          for (int s = 0; s < 4; ++s) rows[s] += four[s], columns[k][s] += four[s];
        }
      }
      if (!row_sums) continue;
      for (int s = 0; s < 4; ++s)
        for (int step = lanes / 2; step > 0; step /= 2)
          rows[s] += __shfl_down_sync(0xffffffffu, rows[s], step, lanes);
      if (x % lanes != 0 || round + y >= tile_rows || row >= R || rows[3] == 0) continue;
      for (int s = 0; s < 4; ++s) atomicAdd(&row_sums[s * R + row], rows[s]);
    }
    if (!row_sums) continue;
    for (int k = 0; k < kColumns; ++k) {
      const i64 column = first_column + k * width + x;
      if (column >= C || columns[k][3] == 0) continue;
      for (int s = 0; s < 4; ++s) atomicAdd(&column_sums[s * C + column], columns[k][s]);
    }
  }
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

constexpr int64_t kThreads = 256, kColumns = 4, kSums = 10;  // as in the source
constexpr int64_t kMostColumns = int64_t{1} << 25;           // 1 GiB of sums

// The few entry points of NVRTC, whose headers not every wheel brings. 0 is success.
struct Nvrtc {
  using Program = void*;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Program, int, const char* const*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*destroy)(Program*);
};

// PyTorch's own library for its just-in-time kernels is linked against the NVRTC that it came with.
const Nvrtc* nvrtc() {
  static const std::optional<Nvrtc> found = []() -> std::optional<Nvrtc> {
    for (const char* name : {"libcaffe2_nvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}) {
      void* library = dlopen(name, RTLD_NOW);
      if (!library) continue;
      Nvrtc all{};
      const auto find = [&](const char* symbol, auto& function) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
        return function != nullptr;
      };
      if (find("nvrtcCreateProgram", all.create) && find("nvrtcCompileProgram", all.compile) &&
          find("nvrtcGetCUBINSize", all.cubin_size) && find("nvrtcGetCUBIN", all.cubin) &&
          find("nvrtcDestroyProgram", all.destroy)) {
        return all;
      }
    }
    return std::nullopt;
  }();
  return found ? &*found : nullptr;
}

std::string compiled(const std::string& got, const std::string& oracle) {
  if (!nvrtc()) return {};
  const CudaDriver& driver = cuda_driver();
  int major = 0, minor = 0;
  driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(major) + std::to_string(minor);
  const std::string got_type = "-DGOT=" + got, oracle_type = "-DORACLE=" + oracle;
  const char* options[] = {arch.c_str(), got_type.c_str(), oracle_type.c_str(), "--std=c++17"};
  Nvrtc::Program program = nullptr;
  if (nvrtc()->create(&program, kSource, "compare.cu", 0, nullptr, nullptr) != 0) return {};
  std::string cubin;
  size_t size = 0;
  if (nvrtc()->compile(program, 4, options) == 0 && nvrtc()->cubin_size(program, &size) == 0) {
    cubin.resize(size);
    if (nvrtc()->cubin(program, cubin.data()) != 0) cubin.clear();
  }
  nvrtc()->destroy(&program);
  return cubin;
}

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

// Of types that have a name; null when it cannot be compiled. Lives as long as the process, in
// whose context it is loaded: there must be one.
CUfunction function_for(at::ScalarType got, at::ScalarType oracle) {
  static std::map<std::pair<at::ScalarType, at::ScalarType>, CUfunction> known;
  const auto [entry, fresh] = known.try_emplace({got, oracle}, nullptr);
  if (!fresh) return entry->second;
  const std::string cubin = compiled(type_name(got), type_name(oracle));
  if (cubin.empty()) return nullptr;
  const CudaDriver& driver = cuda_driver();
  CUmodule module = nullptr;
  driver.check(driver.module_load_data(&module, cubin.data()), "loading compare");
  driver.check(driver.module_get_function(&entry->second, module, "compare"), "finding compare");
  return entry->second;
}

// Where the dimensions are parted into rows and columns: columns enough for a coalesced read, and
// no more than rows where that can be.
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

// Of sums [4, product of sizes[begin, end)]: for each of those dimensions [4, size].
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
    out.push_back((others.empty() ? apart : apart.sum(others)).cpu());
  }
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
  sections = sections && g.dim() >= 2;
  int64_t columns = sections ? product(sizes, split, g.dim()) : 1024;
  int64_t rows = sections ? product(sizes, 0, split) : (elements + columns - 1) / columns;
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
  void* arguments[] = {&g_data, &e_data,    &o_data,    &rows,     &columns,    &elements,
                       &width,  &tile_rows, &sums_data, &row_data, &column_data};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(kThreads);
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = c10::cuda::getCurrentCUDAStream().stream();
  const CudaDriver& driver = cuda_driver();
  driver.check(driver.launch_kernel_ex(&config, function, arguments, nullptr), "compare");

  const at::Tensor sum = sums.sum(0), max = std::get<0>(sums.max(0));
  const at::Tensor both = at::stack({sum, max}).cpu();
  const double *s = both.const_data_ptr<double>(), *m = s + kSums;
  out.error_sum = s[0], out.error_max = m[1];
  out.oracle_sum = s[2], out.oracle_max = m[3];
  out.both = static_cast<int64_t>(s[4]), out.oracles = static_cast<int64_t>(s[5]);
  out.sound = static_cast<int64_t>(s[6]);
  out.different = static_cast<int64_t>(s[7]), out.nonfinite = static_cast<int64_t>(s[8]);
  out.allclose_worst = m[9];
  if (sections && out.different > 0) {
    add_dims(row_sums, sizes, 0, split, out.sections);
    add_dims(column_sums, sizes, split, g.dim(), out.sections);
  }
  return out;
}

}  // namespace kw
