// Times programs on a GPU. L2 is flushed by writing before each run. Device time is the time
// between two events around a plain replay on the stream, as eager PyTorch would run it. Wall time
// is the time from the call to its completion on an idle device. The processors' clock is cycles
// over nanoseconds of a thread that spins. Compiled only if PyTorch has CUDA.
#pragma once

#include <vector>

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "runtime/protocol.h"

namespace kw::exec {

// Returns the times of `tasks`, then of the request's packages (protocol.h, TimeRequest).
TimeReport time_on_cuda(Backend& backend, const TimeRequest& request,
                        const std::vector<LoadedTask*>& tasks);

}  // namespace kw::exec
