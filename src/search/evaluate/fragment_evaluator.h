// Evaluates fragments. It asks the policy for proposals, builds them in parallel, and judges them
// on the values that flow through the program there. Then it times them against the PyTorch steps
// that they would replace.
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
  FragmentEvaluator(WorkerPool& pool, Executor& executor, Policy& policy, Store& store,
                    const DeviceProfile& profile, const OptimizeOptions& options,
                    PhaseClock& clock);

  // Results come from the store if a fragment was evaluated before with the same request.
  std::vector<EvaluationResult> evaluate(const std::vector<EvaluationRequest>& requests,
                                         const SearchLimit& limit) override;
  bool measures() const override { return options_.measure; }
  int threads() const override { return pool_.parallel(); }

 private:
  struct Built {
    size_t attempt;
    Task task;
  };
  enum class State {
    kOpen,       // the policy is asked, and its answers are judged
    kRecalled,   // the store knows the best attempt, which needs to be built again
    kNoneRight,  // the store knows that no attempt was right
    kFound,      // `built` is the right attempt, and no other is wanted
  };
  // A fragment that is being evaluated.
  struct FragmentJob {
    const EvaluationRequest& request;
    std::string fragment_hash;  // canonical_hash() of the fragment
    bool takes_first = false;   // the first right attempt is taken, without timing others
    std::string key;            // of the store
    State state = State::kOpen;
    size_t recalled_attempt = 0;  // in kRecalled: the best attempt of an earlier run
    EvaluationResult result;
    Question question;                  // what the policy is asked
    std::vector<Built> built;           // attempts that are built, and later those accepted
    size_t next = 0;                    // index of the next attempt to build
    std::map<size_t, size_t> building;  // index of the attempt, by number of the builder
  };
  class AbandonsBuilds;  // leaves no build in the pool at the end of its scope

  void judge_in_turn(std::vector<FragmentJob*> jobs, const SearchLimit& limit);
  void judge_as_they_come(const std::vector<FragmentJob*>& jobs, const SearchLimit& limit);
  void propose(const std::vector<FragmentJob*>& jobs, const SearchLimit& limit);
  void propose(FragmentJob& job, const SearchLimit& limit);
  static void add_proposal(FragmentJob& job, const Proposal& proposal, const SearchLimit& limit);
  static Attempt attempt_of(const FragmentJob& job);
  static void reset(FragmentJob& job);
  void build(const std::vector<FragmentJob*>& jobs, const SearchLimit& limit);
  void submit_builds(const std::vector<FragmentJob*>& jobs);
  void take_finished_builds(const SearchLimit& limit, std::chrono::steady_clock::time_point until);
  bool wants_more(FragmentJob& job, const SearchLimit& limit);
  void judge(FragmentJob& job, const SearchLimit& limit);
  void note_if_wrong(const FragmentJob& job, const Attempt& attempt);
  void time(const Reference& reference, FragmentJob& job);
  std::string store_key(const FragmentJob& job) const;
  void recall(FragmentJob& job);
  void remember(const FragmentJob& job);

  WorkerPool& pool_;
  Executor& executor_;
  Policy& policy_;
  Store& store_;
  const DeviceProfile& profile_;
  const OptimizeOptions& options_;
  PhaseClock& clock_;
  Verifier verifier_;
  std::map<std::pair<std::string, std::string>, std::string>
      wrong_;  // the reason, by fragment and source
  CandidateBuilder builder_;
  std::map<size_t, FragmentJob*> builds_for_;  // by number of the builder
};

}  // namespace kw
