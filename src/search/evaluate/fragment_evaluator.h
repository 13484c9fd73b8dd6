// Fragments, all the way: proposals, built in parallel, judged on values that really flow there,
// timed against the PyTorch steps they would replace.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "policy/policy.h"
#include "search/common/phase_clock.h"
#include "search/common/search_options.h"
#include "search/evaluate/candidate_builder.h"
#include "search/evaluate/evaluator.h"
#include "search/evaluate/question.h"
#include "store/store.h"

namespace kw {

class FragmentEvaluator : public Evaluator {
 public:
  FragmentEvaluator(WorkerPool& pool, ExecutorClient& executor, Policy& policy, Store& store,
                    const DeviceProfile& profile, const OptimizeOptions& options,
                    PhaseClock& clock);

  // Results come from the store when a fragment was evaluated before with as many proposals.
  std::vector<Evaluated> evaluate(const std::vector<Asked>& asked,
                                  const SearchLimit& limit) override;
  bool measures() const override { return options_.measure; }
  int threads() const override { return pool_.parallel(); }

 private:
  struct Built {
    size_t attempt;
    Task task;
  };
  // One fragment under way.
  struct Work {
    const Asked& asked;
    std::string fragment;      // canonical_hash() of it
    bool first_right = false;  // the first attempt that is found right is taken
    std::string key;
    std::optional<size_t> recalled;  // the best attempt of an earlier run
    bool done = false;               // nothing is left to build
    bool is_right = false;           // of what is judged as it comes: `built` is the one
    Evaluated found;
    Question question;  // that the policy is asked
    std::vector<Built> built;
    size_t next = 0;                    // attempt to build
    std::map<size_t, size_t> building;  // attempts, by number of the builder
  };
  void judge_in_turn(std::vector<Work*> works, const SearchLimit& limit);
  void judge_as_they_come(const std::vector<Work*>& works, const SearchLimit& limit);
  void propose(const std::vector<Work*>& works, const SearchLimit& limit);
  void propose(Work& work, const SearchLimit& limit);
  static void add(Work& work, const Proposal& proposal, const SearchLimit& limit);
  static Attempt attempt_of(const Work& work);
  static void begin(Work& work);
  void build(const std::vector<Work*>& works, const SearchLimit& limit);
  void send(const std::vector<Work*>& works);
  void take_built(const SearchLimit& limit, std::chrono::steady_clock::time_point until);
  bool wants_more(Work& work, const SearchLimit& limit);
  void judge(Work& work, const SearchLimit& limit);
  void note_if_wrong(const Work& work, const Attempt& attempt);
  void time(const Reference& reference, Work& work);
  std::string store_key(const Work& work) const;
  void recall(Work& work);
  void remember(const Work& work);

  WorkerPool& pool_;
  ExecutorClient& executor_;
  Policy& policy_;
  Store& store_;
  const DeviceProfile& profile_;
  const OptimizeOptions& options_;
  PhaseClock& clock_;
  Verifier verifier_;
  std::map<std::pair<std::string, std::string>, std::string> wrong_;  // fragment and source: why
  CandidateBuilder builder_;
  std::map<size_t, Work*> builds_for_;  // by number of the builder
};

}  // namespace kw
