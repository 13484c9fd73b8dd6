// The main job: turns a model file into a verified, faster program.
//
// optimize() records the reference, cuts it into fragments and asks the policy for kernels. It
// measures them (cuda) or models their time (cpu), finds the best cover of the program, and
// confirms the result end to end. Everything that was tried is kept in the result for the report.
// Used by one thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "search/common/search_options.h"
#include "search/evaluate/attempt.h"
#include "store/store.h"
#include "verify/verifier.h"

namespace kw {

// A form of the program that was searched (forms.h), and its times.
struct FormTime {
  std::string name;                             // Form::title()
  double eager_seconds = 0, found_seconds = 0;  // of its steps; of its best cover, if it has one
  size_t offered = 0, tried = 0;                // fragments that could be written; those evaluated
};

// A cover that was tried as a whole program.
struct Finalist {
  std::string form;
  size_t fragments = 0;
  // The measured time of the whole program. It is 0 if there were no other finalists to time it
  // with, or if times are modelled.
  double seconds = 0;
  // Why it was not taken, or why it could not be timed with the others. Empty for the finalist that
  // was timed with the others and taken.
  std::string reason;
};

struct OptimizeResult {
  enum class Outcome { kImproved, kNothingGained };
  Outcome outcome = Outcome::kNothingGained;
  std::string message;  // one line for people
  Task reference;
  std::string reference_source;      // the user's file
  Task base;                         // what was cut: the reference, or another form of it
  std::vector<std::string> changes;  // from the reference to `base`, in plain words
  Task optimized;                    // equals `reference` unless improved
  std::string python;                // optimized.py
  Verdict verdict;                   // of optimized.py against the reference
  std::vector<Attempt> attempts;
  std::vector<double> step_seconds;  // eager time of each step of `base`, measured or modelled
  std::vector<bool> step_measured;   // which of the two
  double reference_seconds = 0;      // eager time of all steps of `reference`, measured or modelled
  bool measured = false;             // whether times of fragments and of the whole are measured
  double search_seconds = 0, total_seconds = 0;
  std::map<std::string, double> phase_seconds;  // where they went: record, plan, build, judge, ...
  std::vector<FormTime> forms;                  // in the order in which they were found
  std::vector<Finalist> finalists;              // in the order in which they were tried
  bool stopped_early = false;                   // budget or interrupt ended the search
};

// Returns the time of all steps of `base` with the chosen fragments in their place. Each is
// measured separately, or modelled. If times are measured, a fragment without one counts as
// PyTorch's steps.
double cover_seconds(const OptimizeResult& result);

class Optimizer {
 public:
  Optimizer(WorkerPool& pool, Executor& executor, Policy& policy, Store& store,
            const DeviceProfile& profile, ProgressSink progress)
      : pool_(pool),
        executor_(executor),
        policy_(policy),
        store_(store),
        profile_(profile),
        progress_(std::move(progress)) {}

  // Optimizes the model. A signal handler may set `stop`: the search ends, and the best result so
  // far is confirmed. Throws InputError if the reference is at fault.
  OptimizeResult optimize(const RecordRequest& request, const OptimizeOptions& options,
                          const std::atomic<bool>& stop);

 private:
  class Run;
  WorkerPool& pool_;
  Executor& executor_;
  Policy& policy_;
  Store& store_;
  const DeviceProfile& profile_;
  ProgressSink progress_;
};

}  // namespace kw
