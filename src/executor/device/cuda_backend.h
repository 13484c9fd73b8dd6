// The cuda backend runs operators on CUDA tensors and launches machine code by the driver. Compiled
// only if PyTorch has CUDA.
#pragma once

#include <memory>

#include "executor/aten/backend.h"

namespace kw::exec {

// Throws EnvironmentError if there is no usable GPU. `sharers` executors share the device; each
// keeps at most its part of the memory.
std::unique_ptr<Backend> make_cuda_backend(int sharers);

}  // namespace kw::exec
