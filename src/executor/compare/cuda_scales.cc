#include "executor/compare/cuda_scales.h"

#include <algorithm>

#include "executor/aten/cuda_jit.h"
#include "executor/aten/guarded_memory.h"

namespace kw::exec {
namespace {

// A block counts in shared memory. The exponents of one tensor are few, so atomics collide there,
// but they still keep up with memory.
constexpr const char* kScalesSource = R"cuda(
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

extern "C" __global__ void count_exponents(const u64* numbers, i64 count, int zero, int places,
                                           u64* counts) {
  extern __shared__ u32 own[];
  for (int i = threadIdx.x; i < places; i += blockDim.x) own[i] = 0;
  __syncthreads();
  const i64 step = i64(gridDim.x) * blockDim.x;
  for (i64 at = i64(blockIdx.x) * blockDim.x + threadIdx.x; at < count; at += step) {
    const u64 magnitude = numbers[at] & 0x7fffffffffffffffull;
    const int biased = int(magnitude >> 52);
    if (magnitude == 0 || biased == 0x7ff) continue;
    const int exponent = biased > 0 ? biased - 1022 : -1010 - __clzll(magnitude);
    atomicAdd(&own[exponent + zero], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < places; i += blockDim.x)
    if (own[i] > 0) atomicAdd(&counts[i], u64(own[i]));
}
)cuda";

}  // namespace

std::optional<std::vector<int64_t>> count_exponents_on_cuda(const at::Tensor& numbers, int zero,
                                                            int places) {
  if (numbers.scalar_type() != at::kDouble) return std::nullopt;
  const CUfunction function = jit_function(kScalesSource, "count_exponents");
  if (!function) return std::nullopt;
  // The order of elements does not matter.
  const at::Tensor x = numbers.is_non_overlapping_and_dense() ? numbers : numbers.contiguous();
  const at::Tensor counts = at::zeros({places}, x.options().dtype(at::kLong));
  constexpr int64_t kThreads = 512, kMostBlocks = 4 * 132;
  const int64_t count = x.numel();
  const int64_t blocks = std::clamp<int64_t>((count + kThreads - 1) / kThreads, 1, kMostBlocks);
  JitLaunch{function, "count_exponents", blocks, kThreads,
            static_cast<size_t>(places) * sizeof(uint32_t)}(x.const_data_ptr(), count, zero, places,
                                                            counts.data_ptr());
  if (!x.is_alias_of(numbers)) poison_storage(x);  // later kernels may find it
  const at::Tensor host = counts.cpu();
  const auto* data = host.const_data_ptr<int64_t>();
  return std::vector<int64_t>(data, data + places);
}

}  // namespace kw::exec
