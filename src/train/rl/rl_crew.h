// Who draws and judges the tasks of a run of reinforcement learning.
#pragma once

#include <memory>

#include "runtime/sanitizer.h"
#include "runtime/session.h"
#include "synth/hygiene.h"
#include "train/data/rl_tasks.h"
#include "train/judge/reviewed_judge.h"
#include "train/judge/verifier_judge.h"
#include "train/rl/rl_config.h"

namespace kw::train {

// What a run borrows from its caller.
struct RlCrew {
  WorkThread& drawing;  // tasks are drawn on this thread, which outlives the pool
  WorkerPool& pool;     // records tasks
  Judge& judge;
  RlTaskSource::IsFair is_fair = {};  // as in rl_tasks.h
};

// The crew that a recipe asks for: workers, executors, the verifier, and a reviewer if the recipe
// names an endpoint. Owns them all. One thread.
class VerifyingCrew {
 public:
  // Starts the workers and an executor, which takes seconds. Throws EnvironmentError for a GPU that
  // is not there.
  explicit VerifyingCrew(const RlConfig& config);
  // Returns what a run borrows; it may be used as long as this object lives.
  RlCrew parts();

 private:
  const bool only_fair_tasks_;
  WorkThread drawing_;  // starts the session's pool, and outlives it
  Session session_;
  const std::unique_ptr<Sanitizer> sanitizer_;  // of the judge's right answers; may be null
  VerifierJudge judge_;
  std::unique_ptr<ReviewedJudge> reviewed_;  // null without an endpoint
  Examiner examiner_;
};

}  // namespace kw::train
