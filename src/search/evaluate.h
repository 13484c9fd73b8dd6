// Fragments, all the way: proposals, built in parallel, judged on values that really flow there,
// timed against the PyTorch steps they would replace.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "program/transform.h"
#include "search/optimize.h"
#include "search/phase_clock.h"

namespace kw {

// When to end: a point in time, or a flag that a signal handler sets.
struct SearchLimit {
  std::chrono::steady_clock::time_point end;
  const std::atomic<bool>& stop;
  bool over() const { return stop || std::chrono::steady_clock::now() > end; }
};

struct Asked {
  Fragment fragment;
  double model_seconds = 0;  // PyTorch's time for it, where none is measured
  int proposals = 1;
};

struct Evaluated {
  std::optional<Task> best;  // the fastest proposal that was accepted, built
  size_t best_attempt = 0;   // index into `attempts`
  double eager_seconds = 0;  // of the steps themselves
  double seconds = 0;        // of `best`
  std::vector<Attempt> attempts;
};

class FragmentEvaluator {
 public:
  FragmentEvaluator(WorkerPool& pool, ExecutorClient& executor, Policy& policy, Store& store,
                    const DeviceProfile& profile, const OptimizeOptions& options,
                    PhaseClock& clock);

  // Results in the order of `asked`. With measured times every proposal is timed; with modelled
  // ones the policy's best guesses are judged until one passes. Results come from the store when a
  // fragment was evaluated before with as many proposals. What `limit` keeps from being judged says
  // so.
  std::vector<Evaluated> evaluate(const std::vector<Asked>& asked, const SearchLimit& limit);

  // How many times longer than the policy first thought fragments of a family took, as far as
  // measured; 1 when none was. What is off for one is off for its like.
  double slower(const std::string& family) const;

  bool measures() const { return options_.backend == "cuda"; }

 private:
  struct Built {
    size_t attempt;
    Task task;
  };
  // One fragment under way.
  struct Work {
    const Asked& asked;
    std::string key;
    std::optional<size_t> recalled;  // the best attempt of an earlier run
    bool done = false;               // nothing is left to build
    Evaluated found;
    std::vector<Built> built;
    double guess = 0;  // of the first attempt's time
  };
  void propose(Work& work);
  void build(const std::vector<Work*>& works, const SearchLimit& limit);
  void judge(Work& work, const SearchLimit& limit);
  void time(const Reference& reference, Work& work);
  std::string store_key(const Asked& asked) const;
  void recall(Work& work);
  void remember(const Work& work);
  void compare(const Work& work);

  WorkerPool& pool_;
  ExecutorClient& executor_;
  Policy& policy_;
  Store& store_;
  const DeviceProfile& profile_;
  const OptimizeOptions& options_;
  PhaseClock& clock_;
  struct Logs {
    double sum = 0;
    int count = 0;
  };
  std::map<std::string, Logs> slower_;
  Verifier verifier_;
};

}  // namespace kw
