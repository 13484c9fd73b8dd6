// The processes of one command or one run: workers that record and compile, and executors that run
// and time. Torch-free.
#pragma once

#include <string>

#include "runtime/executor_client.h"
#include "worker/device_profile.h"
#include "worker/worker_pool.h"

namespace kw {

struct SessionConfig {
  DeviceProfile profile;  // what kernels are written for and judged by
  WorkerConfig workers;
  ExecutorConfig executor;  // Session sets its `workers` and `sandbox`
};

// Returns the configuration of a session whose jobs keep all cores busy that this process may use.
// `backend`: "cpu" or "cuda", of the executor.
SessionConfig default_session_config(const DeviceProfile& profile, const std::string& backend);

// Processes start at first use, so that a command pays only for what it uses. Members are made in
// order and end in the reverse order.
struct Session {
  explicit Session(const SessionConfig& config);

  const DeviceProfile profile;
  const WorkerConfig workers;  // for further pools and crews on `zygote`
  // The one zygote of all workers, the cpu backend's interpreter included: torch is imported once.
  SharedZygote zygote;
  WorkerPool pool;
  ExecutorClient executor;
};

}  // namespace kw
