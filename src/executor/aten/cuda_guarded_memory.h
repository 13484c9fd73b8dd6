// Checks guard bytes of many buffers with one kernel. Compiled only if PyTorch has CUDA.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kw::exec {

struct ByteRange {
  const uint8_t* data;  // on the device
  int64_t count;
};

// Sets `broken`, one bool on the device, if a byte of the ranges differs from `pattern`. Its lower
// byte belongs at even addresses, its upper byte at odd ones. Runs in stream order. Returns false
// if the kernel cannot be compiled.
bool note_overwritten_on_cuda(const std::vector<ByteRange>& ranges, int16_t pattern,
                              const at::Tensor& broken);

}  // namespace kw::exec
