// Guard bytes of many buffers, looked at by one kernel. Compiled only where PyTorch has CUDA.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kw {

struct ByteRange {
  const uint8_t* data;  // on the device
  int64_t count;
};

// Sets `broken`, one bool on the device, where a byte at an even address is not the lower one of
// `pattern`, or at an odd one the upper. In stream order. False when the kernel cannot be compiled.
bool note_overwritten_on_cuda(const std::vector<ByteRange>& ranges, int16_t pattern,
                              const at::Tensor& broken);

}  // namespace kw
