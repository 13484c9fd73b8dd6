// The cuda backend: operators on CUDA tensors, launches of machine code by the driver, and the
// clock. Compiled only where PyTorch has CUDA.
#pragma once

#include <memory>

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"

namespace kw {

// EnvironmentError when there is no usable GPU.
// `sharers`: executors that have the device together; each keeps its part of its memory at most.
std::unique_ptr<Backend> make_cuda_backend(int sharers);

// docs: protocol.h, TimeRequest.
TimeReport time_on_cuda(Backend& backend, const TimeRequest& request,
                        const std::vector<LoadedTask*>& tasks);

}  // namespace kw
