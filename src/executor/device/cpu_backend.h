// The cpu backend: operators on CPU tensors, launches by worker/interpreter.py in sandboxed
// children (docs/formats/protocol.md, request "interpret"). A child maps copies of the buffers of
// its own launch, with guard regions of poison around each, and nothing else; what the kernel's
// compiled code writes is copied back.
#pragma once

#include <chrono>
#include <memory>

#include "executor/aten/backend.h"
#include "worker/worker_pool.h"

namespace kw {

struct CpuBackendConfig {
  WorkerConfig worker;  // started at the first launch
  UniqueFd zygote;      // lent by the supervisor (SharedZygote::lend); none: one of its own
  std::chrono::milliseconds launch_deadline{60000};
};

std::unique_ptr<Backend> make_cpu_backend(CpuBackendConfig config);

}  // namespace kw
