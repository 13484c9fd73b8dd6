// Whether a program is a fair task: its results are finite, are not the same whatever
// it reads, hang on all that it reads, and not on the last bits of it (docs/synthesis.md,
// "Hygiene").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "runtime/executor_client.h"
#include "worker/jobs.h"
#include "worker/worker_pool.h"

namespace kw {

enum class Flaw {
  kNone,
  kNothing,     // computes nothing: views alone
  kNoTwin,      // no sizes in the small window
  kDoesNotRun,  // the recorder or PyTorch refuses it, or it does not fit
  kNotFinite,
  kConstant,  // a result is the same whatever is read
  kIgnored,   // an input or parameter hardly matters to any result
  kUnstable,  // the last bits decide
};
std::string_view flaw_name(Flaw flaw);

struct Hygiene {
  Flaw flaw = Flaw::kNone;
  std::string reason;  // one line; empty where there is no flaw
};

// The first flaw that a report tells of. `task` names tensors.
Hygiene judge_hygiene(const ExamineReport& report, const Task& task);

// Records model files and has the executor examine them. Borrows both. One thread.
class Examiner {
 public:
  Examiner(WorkerPool& pool, ExecutorClient& executor, const DeviceProfile& profile)
      : pool_(pool), executor_(executor), profile_(profile) {}

  struct Model {
    std::string file;  // what its record says
    std::string text;
    uint64_t seed = 0;    // of inputs and parameters
    bool examine = true;  // or record it alone
  };
  struct Examined {
    Hygiene hygiene;
    Task task;  // as recorded; empty where it does not run
  };
  // Recorded as far in parallel as the pool goes, examined one after the other; in order.
  // EnvironmentError where a worker or the executor is at fault.
  std::vector<Examined> examine(const std::vector<Model>& models);
  // One that is recorded.
  Hygiene examine(const Task& task, uint64_t seed);
  // So many go through at once.
  size_t at_once() const { return 4 * static_cast<size_t>(pool_.parallel()); }

 private:
  WorkerPool& pool_;
  ExecutorClient& executor_;
  const DeviceProfile& profile_;
};

}  // namespace kw
