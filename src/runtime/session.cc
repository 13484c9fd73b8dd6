#include "runtime/session.h"

#include <algorithm>
#include <utility>

namespace kw {
namespace {

// The cpu backend's interpreter is a copy of the session's zygote, so both have one sandbox.
ExecutorConfig executor_of(const SessionConfig& config, SharedZygote& zygote) {
  ExecutorConfig out = config.executor;
  out.workers = &zygote;
  out.sandbox = config.workers.sandbox;
  return out;
}

}  // namespace

SessionConfig default_session_config(const DeviceProfile& profile, const std::string& backend) {
  SessionConfig config{profile, default_worker_config(), default_executor_config(backend)};
  config.workers.parallel = std::max(2, threads_of(0));
  return config;
}

Session::Session(const SessionConfig& config)
    : profile(config.profile),
      workers(config.workers),
      zygote(workers),
      pool(workers, &zygote),
      executor(executor_of(config, zygote)) {}

}  // namespace kw
