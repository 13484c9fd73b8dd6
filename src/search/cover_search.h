// The search for the fastest way to run one program as fragments and single PyTorch steps.
//
// A CoverSearch owns a form of the program, what is known of the time of every step, and the
// fragments that the policy can write; it borrows the evaluator and the executor. Times are in
// seconds; measured ones come from the device, others from the roofline of the device profile. One
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/evaluate.h"
#include "search/forms.h"
#include "search/optimize.h"

namespace kw {

class CoverSearch {
 public:
  // Fragments of a cover: ascending indices into the search's candidates.
  using Cover = std::vector<int>;

  CoverSearch(Form form, ExecutorClient& executor, Policy& policy, FragmentEvaluator& evaluator,
              const DeviceProfile& profile, const OptimizeOptions& options, PhaseClock& clock,
              ProgressSink progress);

  // Times PyTorch's steps on the device, for `seconds` at most; until then they are modelled, and
  // so are those that cannot be timed alone.
  void measure_steps(double seconds, const SearchLimit& limit);
  // Asks the policy which fragments it can write and how fast it thinks they are. False when
  // `limit` came before it was asked about all of them: small ones come first.
  bool offer_fragments(const SearchLimit& limit);
  // The time of the best cover as far as it is known or guessed.
  double expected_seconds() const;
  // Evaluates fragments until the best cover is made of evaluated ones. False when `limit` came
  // first.
  bool settle(const SearchLimit& limit);
  // Looks further: more schedules for what takes most of the time, and less likely fragments.
  void refine(const SearchLimit& limit);

  // Covers made of evaluated fragments that are best for one price of a launch or another; without
  // empty ones, the best first.
  std::vector<Cover> covers() const;
  std::vector<Replacement> replacements(const Cover& cover) const;
  // The fragment of a cover that saves least is not used again.
  void drop_weakest(const Cover& cover, const std::string& reason);
  void mark_chosen(const Cover& cover);

  const Form& form() const { return form_; }
  const Task& program() const { return form_.task; }
  const std::vector<double>& step_seconds() const { return step_seconds_; }
  const std::vector<bool>& step_measured() const { return step_measured_; }
  double eager_seconds() const;  // of all steps
  std::vector<Attempt> attempts() const;
  size_t offered() const { return candidates_.size(); }  // fragments that the policy can write

 private:
  // A fragment that the policy can write.
  struct Candidate {
    std::vector<int> steps;
    std::string family;
    double eager_seconds = 0, seconds = 0;
    bool evaluated = false, usable = true;
    std::optional<Task> task;
    std::vector<Attempt> attempts;
    size_t best_attempt = 0;
  };

  bool time_steps(const std::vector<int>& steps, double seconds);
  void report(const std::string& phase, const std::string& detail);
  bool settle(double optimism, const SearchLimit& limit);
  void deepen(const SearchLimit& limit);
  void evaluate(const Cover& chosen, int deepen, const SearchLimit& limit);
  void take(Candidate& candidate, Evaluated found);
  Cover untried(double optimism) const;
  Cover best(double optimism, double gap, double* seconds) const;
  double best_evaluated_seconds();
  double eager_seconds(const std::vector<int>& steps) const;

  Form form_;
  ExecutorClient& executor_;
  Policy& policy_;
  FragmentEvaluator& evaluator_;
  const DeviceProfile& profile_;
  const OptimizeOptions& options_;
  PhaseClock& clock_;
  ProgressSink progress_sink_;
  Progress progress_;
  std::vector<std::vector<int>> dependencies_;
  std::vector<double> step_seconds_;
  std::vector<bool> step_measured_;
  std::vector<Candidate> candidates_;
};

}  // namespace kw
