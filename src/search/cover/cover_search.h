// Searches for the fastest way to run one program as fragments and single PyTorch steps.
//
// A CoverSearch owns a form of the program, the known times of its steps, and the fragments that
// the policy can write. It borrows the policy and the evaluator. Times are in seconds. Measured
// times come from the device, the others from the roofline of the device profile. Used by one
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
  // The fragments of a cover: ascending indices into the search's candidates.
  using Cover = std::vector<int>;

  CoverSearch(Form form, Policy& policy, Evaluator& evaluator, FamilyBias& slower,
              const DeviceProfile& profile, const OptimizeOptions& options, PhaseClock& clock,
              ProgressSink progress);

  // Returns the first few computing operators without right kernels: the policy was asked about
  // them, or can write none.
  std::vector<std::string> uncovered() const;

  // Notes the measured seconds of single steps in PyTorch, by step; the others stay modelled.
  void know_steps(const std::map<int, double>& measured);
  // For searches in which no PyTorch may be left: finds right kernels for each operator on its own,
  // which a policy is most likely to write. They are not timed, but from then on there is a
  // program, however little time is left. A policy that draws its answers is asked until one is
  // right. Returns false if `limit` came first, or the policy has no other answers.
  bool begin(const SearchLimit& limit);
  // Asks the policy which fragments it can write and how fast it thinks they are. Returns false if
  // `limit` came before it was asked about all of them; small fragments come first.
  bool offer_fragments(const SearchLimit& limit);
  // Evaluates fragments until the best cover is made of evaluated ones, or, if times are measured,
  // several rounds brought nothing better. If no PyTorch may be left, first does what begin() does
  // for the steps that still need it. Returns false if `limit` came first.
  bool settle(const SearchLimit& limit);
  // Looks further: tries more schedules for what matters, and less likely fragments. Returns false
  // if `limit` came first.
  bool refine(const SearchLimit& limit);
  // Tries fragments that would have to be several times faster than they are guessed to be. Returns
  // false if `limit` came first.
  bool try_unlikely(const SearchLimit& limit) { return settle(Trust::kUnlikely, limit); }

  // Returns the time of the best cover that uses evaluated fragments only; an untimed one counts as
  // very slow.
  double known_seconds() const;
  // Returns the time with this cover of evaluated fragments; an untimed one counts as the PyTorch
  // steps that it replaces.
  double seconds_of(const Cover& cover) const;
  // Returns the time of the best cover by the policy's guesses, corrected by family bias.
  double expected_seconds() const;
  // Returns the time of the best cover by optimistic guesses: those, and the times of fragments
  // that few schedules were tried for, are taken to be too high.
  double hoped_seconds() const;

  // Returns the covers of evaluated fragments that are best for one price of a launch or another,
  // the best first. Leaves out empty covers and, if no PyTorch may be left, those that leave some.
  std::vector<Cover> covers() const;
  std::vector<Replacement> replacements(const Cover& cover) const;
  // Makes the fragment of the cover that saves least unusable, for `reason`.
  void drop_weakest(const Cover& cover, const std::string& reason);
  void mark_chosen(const Cover& cover);

  const Form& form() const { return form_; }
  const Task& program() const { return form_.task; }
  const std::vector<double>& step_seconds() const { return step_seconds_; }
  const std::vector<bool>& step_measured() const { return step_measured_; }
  double eager_seconds() const;  // of all steps
  std::vector<Attempt> attempts() const;
  size_t offered() const { return candidates_.size(); }  // fragments that the policy can write
  size_t tried() const;                                  // evaluated ones among these

 private:
  enum class State {
    kGuessed,   // only the policy's guess is known
    kRight,     // `best` is right and, though times are measured, not timed
    kTimed,     // `best` is right, and its time is measured, or modelled if times are
    kUnusable,  // no right kernels were found, or the whole program failed with them
  };
  // The best right kernels of a fragment.
  struct Kernels {
    Task task;
    size_t attempt = 0;  // index into the candidate's attempts
    double seconds = 0;  // measured, or modelled if times are; 0 in State::kRight
    double saved = 0;    // of PyTorch's time for the steps, measured in the same run
  };
  // A fragment that the policy can write.
  struct Candidate {
    std::vector<int> steps;
    std::string family;
    State state = State::kGuessed;
    double guess = 0;          // the policy's first
    double eager_seconds = 0;  // of its steps alone
    // The guess, or what the kernels would take if PyTorch took eager_seconds; eager_seconds in
    // State::kRight.
    double seconds = 0;
    int tried = 0;   // schedules asked for and, if times are measured, timed
    int rounds = 0;  // of write_all() that asked for it and had the answers judged
    std::optional<Kernels> best;
    std::vector<Attempt> attempts;
  };
  // What a search assumes about guessed times, from the least to the most hopeful.
  enum class Trust {
    kKnown,      // counts evaluated fragments only; an untimed one counts as very slow
    kExpected,   // guesses are right
    kHopeful,    // guesses are a bit too high
    kDeepening,  // as kHopeful, and fragments with few schedules tried can become faster
    kBold,       // as kDeepening, and guesses are much too high
    kUnlikely,   // as kDeepening, and guesses are several times too high
  };
  struct Factors;
  static Factors factors_of(Trust trust);

  static bool has_kernels(const Candidate& candidate) {
    return candidate.state == State::kRight || candidate.state == State::kTimed;
  }
  void report(const std::string& phase, const std::string& detail);
  bool settle(Trust trust, const SearchLimit& limit);
  // Asks the policy about fragments of at most `max_steps` steps that it was not asked about yet.
  // Returns false if `limit` came before it was asked about all.
  bool offer(int max_steps, const SearchLimit& limit);
  void price(Candidate& candidate) const;
  bool write_all(const SearchLimit& limit);
  std::vector<int> steps_without(const std::function<bool(const Candidate&)>& counts) const;
  Cover smallest_with(const std::vector<int>& steps) const;
  void evaluate(const Cover& chosen, const SearchLimit& limit,
                const std::function<Effort(const Candidate&)>& effort);
  void take(Candidate& candidate, const Effort& effort, EvaluationResult found);
  static size_t add_attempts(Candidate& candidate, EvaluationResult& found, bool better);
  bool leaves_steps(const Cover& cover) const;
  bool is_settled(const Candidate& candidate) const;
  Cover open(Trust trust) const;
  Cover best(Trust trust, double gap, double* seconds) const;

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
