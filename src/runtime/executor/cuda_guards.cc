#include "runtime/executor/cuda_guards.h"

#include <c10/cuda/CUDAStream.h>

#include <algorithm>

#include "runtime/executor/cuda_driver.h"
#include "runtime/executor/cuda_jit.h"

namespace kw {
namespace {

constexpr size_t kMostRanges = 64;  // a launch; as in the source
struct Ranges {
  const uint8_t* data[kMostRanges];
  int64_t count[kMostRanges];
};

constexpr const char* kSource = R"cuda(
struct Ranges {
  const unsigned char* data[64];
  long long count[64];
};
extern "C" __global__ void overwritten(Ranges ranges, int pattern, bool* broken) {
  const unsigned char* data = ranges.data[blockIdx.x];
  bool bad = false;
  for (long long i = threadIdx.x; i < ranges.count[blockIdx.x]; i += blockDim.x) {
    const bool odd = (unsigned long long)(data + i) & 1;
    bad = bad || data[i] != ((odd ? pattern >> 8 : pattern) & 0xff);
  }
  if (bad) *broken = true;
}
)cuda";

}  // namespace

bool note_overwritten_on_cuda(const std::vector<ByteRange>& ranges, int16_t pattern,
                              const at::Tensor& broken) {
  const CUfunction function = jit_function(kSource, "overwritten");
  if (!function) return false;
  int wide_pattern = pattern;
  void* broken_data = broken.data_ptr();
  for (size_t begin = 0; begin < ranges.size(); begin += kMostRanges) {
    const size_t count = std::min(kMostRanges, ranges.size() - begin);
    Ranges some{};
    for (size_t i = 0; i < count; ++i) {
      some.data[i] = ranges[begin + i].data;
      some.count[i] = ranges[begin + i].count;
    }
    void* arguments[] = {&some, &wide_pattern, &broken_data};
    CUlaunchConfig config{};
    config.gridDimX = static_cast<unsigned>(count);
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 256;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = c10::cuda::getCurrentCUDAStream().stream();
    const CudaDriver& driver = cuda_driver();
    driver.check(driver.launch_kernel_ex(&config, function, arguments, nullptr), "guards");
  }
  return true;
}

}  // namespace kw
