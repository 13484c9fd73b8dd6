// Judges whether a program is a fair task (docs/synthesis.md, "Hygiene"). Its results must be
// finite, must not be the same for all inputs, and must depend on all inputs, but not on their last
// bits.
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
  kNothing,     // computes nothing: it has views alone
  kNoTwin,      // no sizes in the small window
  kDoesNotRun,  // the recorder or PyTorch refuses it, or it does not fit
  kNotFinite,
  kConstant,  // a result is the same for all inputs
  kIgnored,   // an input or parameter hardly matters to any result
  kUnstable,  // the last bits decide
};
std::string_view flaw_name(Flaw flaw);

struct Hygiene {
  Flaw flaw = Flaw::kNone;
  std::string reason;  // one line; empty if there is no flaw
};

// Returns the first flaw in a report. `task` names tensors.
Hygiene judge_hygiene(const ExamineReport& report, const Task& task);

// Records model files and has the executor examine them. Borrows all. Used by one thread.
class Examiner {
 public:
  Examiner(WorkerPool& pool, Executor& executor, const DeviceProfile& profile)
      : pool_(pool), executor_(executor), profile_(profile) {}

  struct Model {
    std::string file;  // name in its record
    std::string text;
    uint64_t seed = 0;    // of inputs and parameters
    bool examine = true;  // if false, the model is only recorded
  };
  struct Examined {
    Hygiene hygiene;
    Task task;  // as recorded; empty if it does not run
  };
  // Records models in parallel, as far as the pool goes, and examines them one after the other.
  // Returns results in order. Throws EnvironmentError if a worker or the executor is at fault.
  std::vector<Examined> examine(const std::vector<Model>& models);
  // Examines a recorded task.
  Hygiene examine(const Task& task, uint64_t seed);
  // Returns how many models go through at once.
  size_t at_once() const { return 4 * static_cast<size_t>(pool_.parallel()); }

 private:
  WorkerPool& pool_;
  Executor& executor_;
  const DeviceProfile& profile_;
};

}  // namespace kw
