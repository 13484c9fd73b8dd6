#include "search/optimize.h"

#include <algorithm>
#include <chrono>
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

// Where times are measured, a guess counts as this much faster than the policy thinks, so that a
// fragment whose guess is a little off is measured too before the search ends.
constexpr double kOptimism = 0.75;

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
    size_t attempt = 0;  // index into result_.attempts
  };

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

  // Indices into candidates_ of the best cover with what is known now.
  std::vector<int> cover() {
    std::vector<CoverOption> options;
    std::vector<int> index;
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (!candidates_[c].usable) continue;
      const double guess = evaluator_.measures() ? kOptimism : 1.0;
      const double seconds = candidates_[c].seconds * (candidates_[c].evaluated ? 1.0 : guess);
      options.push_back({candidates_[c].steps, seconds});
      index.push_back(static_cast<int>(c));
    }
    const Cover best = best_cover(dependencies_, result_.step_seconds, options);
    const double eager = eager_seconds_of_all();
    progress_.best = best.seconds > 0 ? eager / best.seconds : 1;
    std::vector<int> out;
    for (int o : best.options) out.push_back(index[o]);
    return out;
  }

  double eager_seconds_of_all() const {
    double total = 0;
    for (double s : result_.step_seconds) total += s;
    return total;
  }

  // The policy's guesses are optimistic, so the best cover is tested where it is untested, until it
  // is made of evaluated fragments only.
  void search() {
    while (true) {
      std::vector<int> best = cover();
      std::erase_if(best, [&](int c) { return candidates_[c].evaluated; });
      progress_.done = static_cast<int>(evaluated_);
      progress_.total = static_cast<int>(evaluated_ + best.size());
      if (best.empty()) return;
      for (int c : best) {
        if (out_of_time()) {
          result_.stopped_early = true;
          for (Candidate& candidate : candidates_) candidate.usable &= candidate.evaluated;
          return;
        }
        evaluate(candidates_[c]);
      }
    }
  }

  void evaluate(Candidate& candidate) {
    const Fragment fragment = cut(reference_.task, candidate.steps);
    std::string names;
    for (int i : candidate.steps) {
      const auto& op = std::get<AtenCall>(reference_.task.forward.steps[i]).op;
      names += (names.empty() ? "" : " ") + op.substr(5, op.find('.', 5) - 5);
    }
    report("searching", names);
    Evaluated found = evaluator_.evaluate(fragment, candidate.eager_seconds, stop_);
    ++evaluated_;
    progress_.done = static_cast<int>(evaluated_);
    candidate.evaluated = true;
    candidate.usable = found.best.has_value();
    candidate.attempt = result_.attempts.size() + found.best_attempt;
    if (found.best) {
      candidate.task = std::move(found.best);
      // PyTorch's time for the group as measured, spread over the modelled steps, keeps covers
      // comparable: what counts is how much the group saves.
      const double saved = evaluator_.measures() ? found.eager_seconds - found.seconds
                                                 : candidate.eager_seconds - found.seconds;
      candidate.seconds = candidate.eager_seconds - saved;
    }
    for (Attempt& attempt : found.attempts) result_.attempts.push_back(std::move(attempt));
  }

  // Splices the best cover, exports it, records the export and judges that against the original.
  // When the whole fails where its parts passed, the least certain part is left out.
  void confirm() {
    while (true) {
      std::vector<int> best = cover();
      if (best.empty()) {
        result_.outcome = OptimizeResult::Outcome::kNothingGained;
        result_.message = "nothing can be gained: PyTorch's own kernels are kept";
        return;
      }
      report("confirming", "the whole program");
      if (try_cover(best)) return;
      // Leave out the fragment that saves least and try again.
      auto saves = [&](int c) { return candidates_[c].eager_seconds - candidates_[c].seconds; };
      const int weakest = *std::min_element(best.begin(), best.end(),
                                            [&](int a, int b) { return saves(a) < saves(b); });
      result_.attempts[candidates_[weakest].attempt].reason =
          "the whole program failed with it: " + result_.message;
      candidates_[weakest].usable = false;
    }
  }

  bool try_cover(const std::vector<int>& best) {
    std::vector<Replacement> replacements;
    for (int c : best) {
      replacements.push_back({cut(reference_.task, candidates_[c].steps), *candidates_[c].task});
    }
    Task optimized;
    std::string python;
    try {
      optimized = splice(reference_.task, replacements);
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
    for (int c : best) result_.attempts[candidates_[c].attempt].chosen = true;
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
  size_t evaluated_ = 0;
  Progress progress_;
  OptimizeResult result_;
};

OptimizeResult Optimizer::optimize(const RecordRequest& request, const OptimizeOptions& options,
                                   const std::atomic<bool>& stop) {
  return Run(*this, request, options, stop).go();
}

}  // namespace kw
