#include "executor/aten/cuda_guarded_memory.h"

#include <algorithm>

#include "executor/aten/cuda_jit.h"

namespace kw::exec {
namespace {

constexpr size_t kMostRanges = 64;  // in one launch; the source has the same number
struct Ranges {
  const uint8_t* data[kMostRanges];
  int64_t count[kMostRanges];
};

constexpr const char* kOverwrittenSource = R"cuda(
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
  const CUfunction function = jit_function(kOverwrittenSource, "overwritten");
  if (!function) return false;
  for (size_t begin = 0; begin < ranges.size(); begin += kMostRanges) {
    const size_t count = std::min(kMostRanges, ranges.size() - begin);
    Ranges some{};
    for (size_t i = 0; i < count; ++i) {
      some.data[i] = ranges[begin + i].data;
      some.count[i] = ranges[begin + i].count;
    }
    JitLaunch{function, "guards", static_cast<int64_t>(count), 256}(some, int{pattern},
                                                                    broken.data_ptr());
  }
  return true;
}

}  // namespace kw::exec
