// Workers, an executor and a judge that the tests of this folder share: each takes seconds to
// start. Made when first asked for, gone when the tests are. One thread.
#pragma once

#include "train/judge/verifier_judge.h"
#include "worker/work_thread.h"

namespace kw::train {

// That tasks are drawn on; does nothing between tests.
inline WorkThread& test_thread() {
  static WorkThread thread;
  return thread;
}

// Records and compiles; no job of it is under way between tests.
inline WorkerPool& test_pool() {
  test_thread();  // outlives it
  static WorkerPool pool(default_worker_config());
  pool.start();
  return pool;
}

inline const DeviceProfile& test_profile() {
  static const DeviceProfile profile = device_profile("h200");
  return profile;
}

inline ExecutorClient& test_executor() {
  static ExecutorClient executor(default_executor_config("cpu"));
  return executor;
}

inline VerifierJudge& test_judge() {
  static VerifierJudge judge(default_worker_config(), test_executor(), test_profile(),
                             {.jobs = 2, .trials = 1, .build_seconds = 60, .trial_seconds = 60});
  return judge;
}

}  // namespace kw::train
