#include "search/optimize.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "formats/error.h"
#include "program/export.h"
#include "program/transform.h"
#include "search/cover.h"
#include "search/evaluate.h"
#include "search/fragments.h"
#include "search/roofline.h"
#include "verify/statistics.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// Where times are measured, a fragment that was not tried yet counts as this much faster than the
// policy thinks: first a little, so that one whose guess is a bit off is tried too; while budget is
// left, more.
constexpr double kOptimism[] = {0.75, 0.6, 0.45};
// Fragments tried in a row without a better cover, after which more of them are not worth it.
constexpr int kPatience = 8;
// The fragments that take most of the program's time get this many times the schedules.
constexpr int kDeepen = 4;
constexpr double kDeepenShare = 0.15;
// Seconds a launch may cost beside what it takes alone: single steps and fragments are timed with
// the host far ahead of the device, whole programs of many small steps are not.
constexpr double kLaunchGaps[] = {0, 2e-6, 5e-6};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// The state of one optimisation.
class Optimizer::Run {
 public:
  Run(Optimizer& owner, const RecordRequest& request, const OptimizeOptions& options,
      const std::atomic<bool>& stop)
      : owner_(owner),
        request_(request),
        options_(options),
        stop_(stop),
        verifier_(owner.pool_, owner.executor_, owner.profile_),
        evaluator_(owner.pool_, owner.executor_, owner.policy_, owner.store_, owner.profile_,
                   options_) {}

  OptimizeResult go() {
    report("recording", request_.file);
    reference_ = verifier_.prepare(request_, options_.verify);
    result_.reference = result_.optimized = reference_.task;
    result_.reference_source = request_.text;
    result_.measured = evaluator_.measures();
    dependencies_ = step_dependencies(reference_.task.forward, reference_.task.kernels);
    cost_steps();
    offer_fragments();
    search();
    result_.search_seconds = since(start_);
    confirm();
    for (const Candidate& candidate : candidates_) {
      result_.attempts.insert(result_.attempts.end(), candidate.attempts.begin(),
                              candidate.attempts.end());
    }
    result_.total_seconds = since(start_);
    return std::move(result_);
  }

 private:
  // A fragment that a policy can write, with what is known of its time.
  struct Candidate {
    std::vector<int> steps;
    double eager_seconds = 0, seconds = 0;
    bool evaluated = false, usable = true;
    std::optional<Task> task;
    int proposals = 0;  // schedules tried
    std::vector<Attempt> attempts;
    size_t best_attempt = 0;
  };
  using CandidateList = std::vector<int>;  // indices into candidates_

  void report(const std::string& phase, const std::string& detail) {
    progress_.phase = phase;
    progress_.detail = detail;
    if (owner_.progress_) owner_.progress_(progress_);
  }

  bool out_of_time() const { return stop_ || since(start_) > options_.budget_seconds; }

  void cost_steps() {
    const Program& forward = reference_.task.forward;
    for (const Step& step : forward.steps) {
      result_.step_seconds.push_back(step_seconds(forward, step, owner_.profile_));
    }
    if (evaluator_.measures()) measure_steps();
  }

  // Each computing step alone, as a fragment of its own: PyTorch's time for it on values that
  // really flow there. Times of all steps come from one interleaved run.
  void measure_steps() {
    report("measuring", "PyTorch's time for each step");
    TimeRequest request;
    std::vector<int> steps;
    for (const auto& single : enumerate_fragments(reference_.task, {.max_steps = 1})) {
      if (single.size() != 1 || stop_) continue;
      steps.push_back(single[0]);
      request.tasks.push_back(owner_.executor_.load(cut(reference_.task, single).task));
    }
    if (steps.empty()) return;
    request.rounds = 20;
    request.seed = options_.verify.seed;
    request.max_seconds = 0.2 * options_.budget_seconds;
    const TimeReport times = owner_.executor_.time(request, options_.verify.trial_deadline);
    for (size_t i = 0; i < steps.size(); ++i) {
      owner_.executor_.unload(request.tasks[i]);
      if (times.status == "ok") result_.step_seconds[steps[i]] = 1e-3 * median(times.device_ms[i]);
    }
  }

  double eager_seconds(const std::vector<int>& steps) const {
    double total = 0;
    for (int i : steps) total += result_.step_seconds[i];
    return total;
  }

  // Asks the policy which fragments it can write and how fast it thinks they are.
  void offer_fragments() {
    const auto fragments = enumerate_fragments(reference_.task, {.max_steps = options_.max_steps});
    progress_.total = static_cast<int>(fragments.size());
    for (const auto& steps : fragments) {
      if (out_of_time()) break;
      ++progress_.done;
      if (progress_.done % 64 == 1) report("planning", "fragments");
      const Fragment fragment = cut(reference_.task, steps);
      const auto deadline = Clock::now() + std::chrono::seconds(5);
      const auto proposals = owner_.policy_.propose(fragment.task, owner_.profile_, 1, 0, deadline);
      if (proposals.empty()) continue;
      Candidate candidate;
      candidate.steps = steps;
      candidate.eager_seconds = eager_seconds(steps);
      candidate.seconds = proposals[0].model_seconds;
      candidates_.push_back(std::move(candidate));
    }
  }

  // The best cover with what is known now. Guesses count `optimism` times what they say, each
  // launch `gap` seconds more.
  CandidateList cover(double optimism = 1, double gap = 0) {
    std::vector<CoverOption> options;
    CandidateList index;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (!candidates_[c].usable) continue;
      const double trust = candidates_[c].evaluated ? 1.0 : optimism;
      options.push_back({candidates_[c].steps, candidates_[c].seconds * trust + gap});
      index.push_back(static_cast<int>(c));
    }
    std::vector<double> singles = result_.step_seconds;
    for (double& seconds : singles) seconds += seconds > 0 ? gap : 0;
    const Cover best = best_cover(dependencies_, singles, options);
    if (gap == 0) best_seconds_ = best.seconds;
    CandidateList out;
    for (int o : best.options) out.push_back(index[o]);
    std::sort(out.begin(), out.end());
    return out;
  }

  double eager_seconds_of_all() const {
    double total = 0;
    for (double s : result_.step_seconds) total += s;
    return total;
  }

  // Guesses say what to try: the best cover is evaluated where it was not, until it is made of
  // evaluated fragments only. With a device the rest of the budget goes to more schedules for the
  // costliest fragments and to guesses that looked less good.
  void search() {
    result_.stopped_early = !settle(kOptimism[0]);
    if (evaluator_.measures()) {
      deepen();
      for (double optimism : kOptimism) settle(optimism);
    }
    for (Candidate& candidate : candidates_) candidate.usable &= candidate.evaluated;
  }

  // False when time ran out before the best cover was evaluated.
  bool settle(double optimism) {
    if (!evaluator_.measures()) optimism = 1;
    double shortest = std::numeric_limits<double>::infinity();
    for (int in_vain = 0; in_vain < kPatience;) {
      CandidateList best = cover(optimism);
      std::erase_if(best, [&](int c) { return candidates_[c].evaluated; });
      progress_.total = progress_.done + static_cast<int>(best.size());
      if (best.empty()) return true;
      for (int c : best) {
        if (out_of_time()) return false;
        evaluate(candidates_[c], options_.proposals);
      }
      in_vain = best_evaluated_seconds() < shortest ? 0 : in_vain + static_cast<int>(best.size());
      shortest = std::min(shortest, best_evaluated_seconds());
    }
    return true;
  }

  void deepen() {
    const CandidateList best = cover(kOptimism[0]);
    const double total = best_seconds_;
    for (int c : best) {
      if (out_of_time()) return;
      Candidate& candidate = candidates_[c];
      if (candidate.seconds > kDeepenShare * total)
        evaluate(candidate, kDeepen * candidate.proposals);
    }
  }

  // Time of the best cover made of what was evaluated; shown as progress.
  double best_evaluated_seconds() {
    cover(std::numeric_limits<double>::infinity());
    if (best_seconds_ > 0) progress_.best = eager_seconds_of_all() / best_seconds_;
    return best_seconds_;
  }

  void evaluate(Candidate& candidate, int proposals) {
    const Fragment fragment = cut(reference_.task, candidate.steps);
    std::string names;
    for (int i : candidate.steps) {
      const auto& op = std::get<AtenCall>(reference_.task.forward.steps[i]).op;
      names += (names.empty() ? "" : " ") + op.substr(5, op.find('.', 5) - 5);
    }
    report("searching", names);
    Evaluated found = evaluator_.evaluate(fragment, candidate.eager_seconds, proposals, stop_);
    ++progress_.done;
    candidate.evaluated = true;
    candidate.proposals = proposals;
    // A second look that was cut short, or found nothing, takes nothing away.
    if (!found.best && candidate.task) return;
    candidate.attempts = std::move(found.attempts);
    candidate.best_attempt = found.best_attempt;
    candidate.usable = found.best.has_value();
    if (!candidate.usable) return;
    candidate.task = std::move(found.best);
    // PyTorch's time for the group as measured, spread over the modelled steps, keeps covers
    // comparable: what counts is how much the group saves.
    const double saved = evaluator_.measures() ? found.eager_seconds - found.seconds
                                               : candidate.eager_seconds - found.seconds;
    candidate.seconds = candidate.eager_seconds - saved;
  }

  // The fastest cover is spliced, exported, recorded again and judged against the original. When
  // the whole fails where its parts passed, the least certain part is left out.
  void confirm() {
    std::set<CandidateList> tried;
    for (const CandidateList& best : contenders()) {
      tried.insert(best);
      report("confirming", "the whole program");
      if (try_cover(best)) return;
    }
    while (true) {
      const CandidateList best = cover();
      if (best.empty()) {
        result_.outcome = OptimizeResult::Outcome::kNothingGained;
        result_.message = "nothing can be gained: PyTorch's own kernels are kept";
        return;
      }
      report("confirming", "without what failed");
      if (tried.insert(best).second && try_cover(best)) return;
      auto saves = [&](int c) { return candidates_[c].eager_seconds - candidates_[c].seconds; };
      const int weakest = *std::min_element(best.begin(), best.end(),
                                            [&](int a, int b) { return saves(a) < saves(b); });
      Candidate& weak = candidates_[weakest];
      weak.attempts[weak.best_attempt].reason =
          "the whole program failed with it: " + result_.message;
      weak.usable = false;
    }
  }

  // Covers that are best for one price of a launch or another, the fastest as a whole first.
  std::vector<CandidateList> contenders() {
    std::vector<CandidateList> covers;
    for (double gap : kLaunchGaps) {
      if (gap > 0 && !evaluator_.measures()) break;
      CandidateList best = cover(1, gap);
      const bool known = std::find(covers.begin(), covers.end(), best) != covers.end();
      if (!best.empty() && !known) covers.push_back(std::move(best));
    }
    if (covers.size() < 2) return covers;
    report("confirming", "which of " + std::to_string(covers.size()) + " covers is fastest");
    TimeRequest request;
    request.rounds = 30;
    request.seed = options_.verify.seed;
    request.max_seconds = 5;
    request.tasks.push_back(reference_.id);
    for (const CandidateList& best : covers) {
      request.tasks.push_back(owner_.executor_.load(splice(reference_.task, replacements(best))));
    }
    const TimeReport times = owner_.executor_.time(request, options_.verify.trial_deadline);
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < covers.size(); ++i) {
      owner_.executor_.unload(request.tasks[i + 1]);
      order.emplace_back(times.status == "ok" ? median(times.device_ms[i + 1]) : 0, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<CandidateList> sorted;
    for (const auto& [ms, i] : order) sorted.push_back(covers[i]);
    return sorted;
  }

  std::vector<Replacement> replacements(const CandidateList& cover) const {
    std::vector<Replacement> out;
    for (int c : cover) {
      out.push_back({cut(reference_.task, candidates_[c].steps), *candidates_[c].task});
    }
    return out;
  }

  bool try_cover(const CandidateList& best) {
    Task optimized;
    std::string python;
    try {
      optimized = splice(reference_.task, replacements(best));
      python = export_python(optimized, request_.text);
    } catch (const InputError& error) {
      result_.message = error.what();
      return false;
    }
    RecordRequest request = request_;
    request.text = python;
    request.file = "optimized.py";
    request.cls = "ModelNew";
    VerifyOptions options = options_.verify;
    options.time = evaluator_.measures();
    if (options.time && options_.compile_baseline && options.compiled_package.empty()) {
      report("confirming", "building torch.compile's version to compare with");
      options.compiled_package = options_.compile_baseline(reference_);
    }
    Task recorded;
    Verdict verdict = verifier_.verify(reference_, request, options, &recorded);
    result_.verdict = verdict;
    if (verdict.outcome != Verdict::Outcome::kAccepted) {
      result_.message = verdict.reason;
      return false;
    }
    if (canonical_hash(recorded) != canonical_hash(optimized)) {
      result_.message = "the exported program records as another one";
      return false;
    }
    if (verdict.speedup_eager && verdict.speedup_eager->lower <= 1) {
      result_.message = "no faster than PyTorch end to end";
      return false;
    }
    for (int c : best) candidates_[c].attempts[candidates_[c].best_attempt].chosen = true;
    result_.optimized = std::move(optimized);
    result_.python = std::move(python);
    result_.outcome = OptimizeResult::Outcome::kImproved;
    result_.message = std::to_string(best.size()) + " fragment" + (best.size() > 1 ? "s" : "") +
                      " written as Triton kernels";
    return true;
  }

  Optimizer& owner_;
  const RecordRequest& request_;
  const OptimizeOptions& options_;
  const std::atomic<bool>& stop_;
  const Clock::time_point start_ = Clock::now();
  Verifier verifier_;
  FragmentEvaluator evaluator_;
  Reference reference_;
  std::vector<std::vector<int>> dependencies_;
  std::vector<Candidate> candidates_;
  double best_seconds_ = 0;  // of the last cover()
  Progress progress_;
  OptimizeResult result_;
};

OptimizeResult Optimizer::optimize(const RecordRequest& request, const OptimizeOptions& options,
                                   const std::atomic<bool>& stop) {
  return Run(*this, request, options, stop).go();
}

}  // namespace kw
