// The search for the fastest way to run one program as fragments and single PyTorch steps.
//
// A CoverSearch owns a form of the program, what is known of the time of every step, and the
// fragments that the policy can write; it borrows the policy and the evaluator. Times are in
// seconds; measured ones come from the device, others from the roofline of the device profile. One
// thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "search/common/phase_clock.h"
#include "search/common/search_options.h"
#include "search/cover/family_bias.h"
#include "search/evaluate/evaluator.h"
#include "search/form/forms.h"

namespace kw {

class CoverSearch {
 public:
  // Fragments of a cover: ascending indices into the search's candidates.
  using Cover = std::vector<int>;

  CoverSearch(Form form, Policy& policy, Evaluator& evaluator, FamilyBias& slower,
              const DeviceProfile& profile, const OptimizeOptions& options, PhaseClock& clock,
              ProgressSink progress);

  // Operators that compute and that no right kernels were found for, though the policy was asked or
  // can write none: the first few.
  std::vector<std::string> uncovered() const;

  // Measured seconds of single steps in PyTorch, by step; the others are modelled.
  void know_steps(const std::map<int, double>& measured);
  // Where no PyTorch may be left: right kernels for each operator by itself, which a policy is most
  // likely to be right about. They are not timed: from then on there is a program, however little
  // time is left. A policy that draws its answers is asked until it is right. False when `limit`
  // came first, or the policy has no other answers.
  bool begin(const SearchLimit& limit);
  // Asks the policy which fragments it can write and how fast it thinks they are. False when
  // `limit` came before it was asked about all of them: small ones come first.
  bool offer_fragments(const SearchLimit& limit);
  // Evaluates fragments until the best cover is made of evaluated ones, or, where times are
  // measured, several rounds brought nothing better. Where no PyTorch may be left it begins as
  // begin() does, if it has not. False when `limit` came first.
  bool settle(const SearchLimit& limit);
  // Looks further: more schedules for what matters, and less likely fragments. Likewise.
  bool refine(const SearchLimit& limit);

  // The time of the best cover: of evaluated fragments alone, where one that was not timed counts
  // as very slow; with guesses, corrected by what their families' were off by; with guesses, and
  // what few schedules were tried for, taken to be too high.
  double known_seconds() const;
  // With a cover of evaluated fragments; those that were not timed count as PyTorch's steps.
  double seconds_of(const Cover& cover) const;
  double expected_seconds() const;
  double hoped_seconds() const;

  // Covers made of evaluated fragments that are best for one price of a launch or another; without
  // empty ones, and, where no PyTorch may be left, those that leave some; the best first.
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
  size_t tried() const;                                  // of those, evaluated

 private:
  // A fragment that the policy can write.
  struct Candidate {
    std::vector<int> steps;
    std::string family;
    double guess = 0;          // the policy's first
    double eager_seconds = 0;  // of its steps alone
    double seconds = 0;        // guessed, or what it would take beside eager_seconds as measured;
                               // eager_seconds where it is right and was not timed
    double best_seconds = 0;   // measured
    double saved = 0;          // of PyTorch's time for the group, measured in the same run
    int tried = 0;             // schedules asked for and, where times are measured, timed
    int rounds = 0;            // of write_all() that asked for it, and were judged
    bool usable = true;
    std::optional<Task> task;
    std::vector<Attempt> attempts;
    size_t best_attempt = 0;
  };
  // What a time counts that was guessed, and one that few schedules were tried for.
  struct Trust {
    double guess, shallow;
  };

  static bool has_kernels(const Candidate& candidate) {
    return candidate.usable && candidate.task.has_value();
  }
  void report(const std::string& phase, const std::string& detail);
  bool settle(Trust trust, const SearchLimit& limit);
  // False when `limit` came before the policy was asked about all; what it was asked about is left
  // out.
  bool offer(int max_steps, const SearchLimit& limit);
  void price(Candidate& candidate) const;
  bool write_all(const SearchLimit& limit);
  std::vector<int> steps_without(const std::function<bool(const Candidate&)>& counts) const;
  Cover smallest_with(const std::vector<int>& steps) const;
  void evaluate(const Cover& chosen, const SearchLimit& limit,
                const std::function<Effort(const Candidate&)>& effort);
  void take(Candidate& candidate, const Effort& effort, Evaluated found);
  bool is_untimed(const Candidate& candidate) const;
  bool leaves_steps(const Cover& cover) const;
  bool is_settled(const Candidate& candidate) const;
  Cover open(Trust trust) const;
  Cover best(Trust trust, double gap, double* seconds) const;
  double eager_seconds(const std::vector<int>& steps) const;

  Form form_;
  Policy& policy_;
  Evaluator& evaluator_;
  FamilyBias& slower_;
  const DeviceProfile& profile_;
  const OptimizeOptions& options_;
  PhaseClock& clock_;
  ProgressSink progress_sink_;
  Progress progress_;
  std::vector<std::vector<int>> dependencies_;
  std::vector<double> step_seconds_;
  std::vector<bool> step_measured_;
  std::set<std::vector<int>> offered_;  // fragments that the policy was asked about
  std::vector<Candidate> candidates_;
};

}  // namespace kw
