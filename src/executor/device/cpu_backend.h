// The cpu backend runs operators on CPU tensors, and launches by worker/interpreter.py in sandboxed
// children (docs/formats/protocol.md, requests "lower" and "interpret"). For a launch, a child maps
// copies of its buffers and nothing else; each copy has guard regions of poison around it. All
// buffers are copied back afterwards.
#pragma once

#include <chrono>
#include <memory>

#include "executor/aten/backend.h"
#include "worker/worker_pool.h"

namespace kw::exec {

struct CpuBackendConfig {
  WorkerConfig worker;  // started at the first launch
  UniqueFd zygote;      // lent by the supervisor (SharedZygote::lend); none: starts its own
  std::chrono::milliseconds launch_deadline{60000};
};

std::unique_ptr<Backend> make_cpu_backend(CpuBackendConfig config);

}  // namespace kw::exec
