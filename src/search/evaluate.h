// One fragment, all the way: proposals, built in parallel, judged on values that really flow there,
// timed against the PyTorch steps they would replace.
#pragma once

#include <atomic>
#include <optional>

#include "program/transform.h"
#include "search/optimize.h"

namespace kw {

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
                    const DeviceProfile& profile, const OptimizeOptions& options);

  // With measured times every proposal is timed; with modelled ones the policy's best guesses are
  // judged until one passes. Results come from the store when this fragment was evaluated before
  // with as many `proposals`.
  Evaluated evaluate(const Fragment& fragment, double eager_model_seconds, int proposals,
                     const std::atomic<bool>& stop);

  bool measures() const { return options_.backend == "cuda"; }

 private:
  struct Built {
    size_t attempt;
    Task task;
  };
  std::vector<Built> build(const Fragment& fragment, std::vector<Attempt>& attempts,
                           const std::atomic<bool>& stop);
  void judge(const Fragment& fragment, std::vector<Built>& built, Evaluated& out,
             const std::atomic<bool>& stop);
  void time(const Reference& reference, std::vector<Built>& built, Evaluated& out);
  std::string store_key(const Fragment& fragment, int proposals) const;
  bool recall(const Fragment& fragment, const std::string& key, Evaluated& out);
  void remember(const std::string& key, const Evaluated& out);

  WorkerPool& pool_;
  ExecutorClient& executor_;
  Policy& policy_;
  Store& store_;
  const DeviceProfile& profile_;
  const OptimizeOptions& options_;
  Verifier verifier_;
};

}  // namespace kw
