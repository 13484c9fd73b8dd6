#include "search/optimize.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "formats/base/error.h"
#include "program/python/export.h"
#include "program/rewrite/adopt.h"
#include "program/rewrite/tables.h"
#include "program/rewrite/transform.h"
#include "search/cover/cover_search.h"
#include "search/cover/step_timer.h"
#include "search/cover_ranking.h"
#include "search/evaluate/fragment_evaluator.h"
#include "search/form/forms.h"
#include "search/host_time.h"
#include "search/nothing_gained.h"
#include "verify/coverage/coverage.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// --- shares of the budget: each is of what is left when its part of the search begins ---

// For right kernels of each operator, if no PyTorch may be left: without them there is no result.
constexpr double kBeginShare = 0.8;
// For timing the steps of all forms: about kStepSeconds together, and at most this share.
constexpr double kStepShare = 0.15, kStepSeconds = 10;
// For asking the policy what it could write. As much is left for evaluating it.
constexpr double kPlanShare = 0.5;
// For settling one form, and for refining one, if times are measured. The last form that is refined
// may take all that is left.
constexpr double kSettleShare = 0.3, kRefineShare = 0.6;
// For settling one form if times are modelled. The last form may take all that is left.
constexpr double kModelledShare = 0.5;

// The share of a form's guessed gain that is expected to be lost: some guesses will be wrong, and
// PyTorch's steps stay in their place.
constexpr double kWrongGuesses = 0.05;
// Covers are timed as whole programs in one run, in so many rounds or seconds, whichever ends
// first.
constexpr int kCoverRounds = 30;
constexpr double kCoverSeconds = 5;

constexpr double kNothingFound = std::numeric_limits<double>::infinity();

constexpr const char* kNoFaster = "nothing can be gained: no faster than PyTorch end to end";
constexpr const char* kNoFasterAsCalled =
    "nothing can be gained: no faster than PyTorch as Python calls it";

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// One optimisation: the searches over the forms of the program, and the confirmation.
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
                   options_, clock_) {}

  OptimizeResult go() {
    report("recording", request_.file);
    {
      const auto phase = clock_.scope("record");
      reference_ = verifier_.prepare(request_, options_.verify);
    }
    for (const std::string& warning : reference_.warnings) report("warning", warning);
    result_.reference = result_.base = result_.optimized = reference_.task;
    result_.reference_source = request_.text;
    result_.measured = evaluator_.measures();
    // If no PyTorch may be left, a program without it is worth more than anything else.
    Form recorded = {reference_.task, "", {}};
    if (options_.verify.pure && is_wanted(recorded)) {
      add_form(std::move(recorded));
      searches_.front().begin(limit(kBeginShare));
    }
    if (searches_.empty() || !limit(1).over()) find_forms();
    time_steps();
    plan();
    search_and_confirm();
    const CoverSearch& base = searches_[chosen_];
    result_.base = base.program();
    result_.changes = base.form().changes;
    result_.step_seconds = base.step_seconds();
    result_.step_measured = base.step_measured();
    result_.attempts = base.attempts();
    for (const CoverSearch& search : searches_) {
      const auto covers = search.covers();
      const double found =
          covers.empty() ? search.eager_seconds() : search.seconds_of(covers.front());
      result_.forms.push_back(
          {search.form().title(), search.eager_seconds(), found, search.offered(), search.tried()});
    }
    result_.phase_seconds = clock_.seconds();
    result_.total_seconds = since(start_);
    return std::move(result_);
  }

 private:
  struct Contender {
    size_t search = 0;
    CoverSearch::Cover cover;
    double seconds = 0;   // as a whole program, when that was measured
    std::string untimed;  // why it could not be
    bool operator<(const Contender& other) const {
      return std::tie(search, cover) < std::tie(other.search, other.cover);
    }
  };

  void report(const std::string& phase, const std::string& detail) {
    if (owner_.progress_) owner_.progress_({phase, detail, 0, 0, 1});
  }

  bool is_wanted(const Form& form) const {
    return options_.form.empty() || options_.form == form.title();
  }

  void add_form(Form form) {
    searches_.emplace_back(std::move(form), owner_.policy_, evaluator_, slower_, owner_.profile_,
                           options_, clock_, owner_.progress_);
  }

  void find_forms() {
    const auto record_again = [&](const Task& form) { return record(form); };
    VerifyOptions once = options_.verify;  // the result will be judged by all trials
    once.trials = 1;
    once.variations = false;
    const auto phase = clock_.scope("forms");
    const bool layouts = evaluator_.measures() || !options_.form.empty();
    std::string titles;
    const bool begun = !searches_.empty();
    for (Form& form : forms_of(reference_.task, layouts, record_again)) {
      titles += (titles.empty() ? "\"" : ", \"") + form.title() + "\"";
      if (!is_wanted(form)) continue;
      const bool recorded = form.name.empty();
      if (recorded && begun) continue;
      // Rounding may cancel what real arithmetic keeps: a form is a proposal like any other.
      if (!recorded && !verifier_.is_correct(reference_, form.task, once)) {
        if (!options_.form.empty())
          throw InputError("this form rounds worse than the model itself");
        continue;
      }
      add_form(std::move(form));
    }
    if (searches_.empty()) {
      throw InputError("no form \"" + options_.form + "\": there are " + titles);
    }
  }

  void time_steps() {
    if (evaluator_.measures()) {
      report("measuring", "PyTorch's time for each step");
      const auto phase = clock_.scope("steps");
      const Clock::time_point end = limit(kStepShare).end;
      const double seconds = kStepSeconds / static_cast<double>(searches_.size());
      for (size_t i = 0; i < searches_.size(); ++i) {
        searches_[i].know_steps(kw::time_steps(owner_.executor_, searches_[i].program(),
                                               options_.verify, seconds, part_of(end, i)));
      }
    }
    result_.reference_seconds = searches_.front().eager_seconds();
  }

  // Asks the policy what it could write for each form.
  void plan() {
    const Clock::time_point end = limit(kPlanShare).end;
    for (size_t i = 0; i < searches_.size(); ++i) {
      result_.stopped_early |= !searches_[i].offer_fragments(part_of(end, i));
    }
  }

  // Returns the form's part of the time until `end`, which it shares with the forms after it.
  SearchLimit part_of(Clock::time_point end, size_t form) const {
    const Clock::time_point now = Clock::now();
    return {now + (end - now) / static_cast<int>(searches_.size() - form), stop_};
  }

  // Returns the time of a form's best cover, as far as it is known or guessed.
  static double expected_seconds(const CoverSearch& search) {
    return (1 - kWrongGuesses) * search.expected_seconds() + kWrongGuesses * search.eager_seconds();
  }

  // Takes the form that is expected to be fastest out of `left`.
  CoverSearch& take_best(std::vector<CoverSearch*>& left) {
    const auto best = std::min_element(left.begin(), left.end(), [](const auto* a, const auto* b) {
      return expected_seconds(*a) < expected_seconds(*b);
    });
    CoverSearch& out = **best;
    left.erase(best);
    return out;
  }

  // Returns the limit of a part of the search that may take this share of the budget that is left.
  SearchLimit limit(double part) const {
    const double seconds = std::max(0.0, part * (options_.budget_seconds - since(start_)));
    return {Clock::now() +
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)),
            stop_};
  }

  void search_and_confirm() {
    std::vector<CoverSearch*> left;
    for (CoverSearch& search : searches_) left.push_back(&search);
    if (evaluator_.measures()) {
      search_by_measuring(std::move(left));
      if (!confirm() && (options_.verify.pure || !try_unlikely())) say_why_nothing();
      return;
    }
    // If times are modelled, a form is searched only if nothing came of those before it.
    while (!left.empty()) {
      CoverSearch& search = take_best(left);
      const Clock::time_point begin = Clock::now();
      result_.stopped_early |= !search.settle(limit(left.empty() ? 1 : kModelledShare));
      result_.search_seconds += since(begin);
      if (confirm()) return;
    }
    say_why_nothing();
  }

  // Settles the forms, the most promising first, then refines those that could still be the
  // fastest, the fastest first. What is learned from one form's fragments changes what the others
  // promise. The covers of all forms compete in confirm().
  void search_by_measuring(std::vector<CoverSearch*> left) {
    const Clock::time_point begin = Clock::now();
    // What is slower than PyTorch is a result only if no PyTorch may be left.
    double shortest = options_.verify.pure ? kNothingFound : result_.reference_seconds;
    const auto is_slow = [&](CoverSearch* search) { return search->hoped_seconds() > shortest; };
    std::vector<CoverSearch*> worth;
    while (!left.empty()) {
      CoverSearch& next = take_best(left);
      if (is_slow(&next)) continue;
      next.settle(limit(kSettleShare));
      shortest = std::min(shortest, found_seconds(next));
      worth.push_back(&next);
    }
    std::erase_if(worth, is_slow);
    std::sort(worth.begin(), worth.end(),
              [](auto* a, auto* b) { return a->known_seconds() < b->known_seconds(); });
    for (CoverSearch* search : worth) {
      if (is_slow(search)) continue;
      result_.stopped_early |= !search->refine(limit(search == worth.back() ? 1 : kRefineShare));
      shortest = std::min(shortest, found_seconds(*search));
    }
    result_.search_seconds += since(begin);
  }

  // With nothing found, what is left of the budget is for fragments that are thought to be slow.
  // Returns whether a cover was taken.
  bool try_unlikely() {
    for (CoverSearch& search : searches_) {
      const Clock::time_point begin = Clock::now();
      result_.stopped_early |= !search.try_unlikely(limit(1));
      result_.search_seconds += since(begin);
      if (found_seconds(search) < result_.reference_seconds && confirm()) return true;
    }
    return false;
  }

  // Returns the time of a form's best cover that may be a result. Without one, PyTorch's time for
  // the form says nothing: a layout alone is no result.
  double found_seconds(const CoverSearch& search) const {
    if (options_.verify.pure) return search.known_seconds();
    double out = kNothingFound;
    for (const CoverSearch::Cover& cover : search.covers()) {
      if (has_share(search, cover)) out = std::min(out, search.seconds_of(cover));
    }
    return out;
  }

  // Whether the cover's kernels do as much of the work as a verdict asks for. True for what cannot
  // be put together: try_cover() says why.
  bool has_share(const CoverSearch& search, const CoverSearch::Cover& cover) const {
    if (options_.verify.without.contains("share")) return true;
    try {
      const double share = coverage(reference_.task, spliced(search, cover)).share;
      return share >= options_.verify.minimum_share;
    } catch (const InputError&) {
      return true;
    }
  }

  static Task spliced(const CoverSearch& search, const CoverSearch::Cover& cover) {
    return splice(search.program(), search.replacements(cover));
  }

  RecordRequest request_for(const std::string& python) const {
    RecordRequest request = request_;
    request.text = python;
    request.file = "optimized.py";
    request.cls = "ModelNew";
    return request;
  }

  std::optional<Task> record(const Task& form) {
    try {
      const RecordRequest request = request_for(export_python(form, request_.text));
      auto built = build_task(owner_.pool_, request, build_plan(options_.verify));
      if (built.fault) return std::nullopt;
      return adopt(reference_.task, canonical(built.value->task)).task;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  // Splices, exports and records the covers, the fastest first, and judges each against the
  // original until one is accepted. If a whole program fails though its parts passed, leaves out
  // the fragment that saves least and tries again. Returns whether a cover was taken.
  bool confirm() {
    std::set<Contender> tried;
    while (true) {
      std::vector<Contender> found = contenders();
      std::erase_if(found, [&](const Contender& c) { return tried.count(c) > 0; });
      for (const Contender& contender : fastest_first(found)) {
        report("confirming", "the whole program");
        tried.insert(contender);
        const bool taken = try_cover(contender);
        result_.finalists.push_back(
            {searches_[contender.search].form().title(), contender.cover.size(), contender.seconds,
             finalist_reason(taken ? "" : result_.message, contender.untimed)});
        if (taken) return true;
      }
      found = contenders();
      if (found.empty()) return false;
      size_t last = searches_.size();
      for (const Contender& contender : found) {  // the best of each form
        if (std::exchange(last, contender.search) == contender.search) continue;
        searches_[contender.search].drop_weakest(
            contender.cover, "the whole program failed with it: " + result_.message);
      }
    }
  }

  void say_why_nothing() {
    result_.outcome = OptimizeResult::Outcome::kNothingGained;
    result_.message = explain(findings());
  }

  SearchFindings findings() const {
    SearchFindings out;
    out.whole = whole_failure_;
    out.whole_reason = result_.message;
    if (options_.verify.pure) out.uncovered = searches_.front().uncovered();
    out.stopped_early = result_.stopped_early;
    out.interrupted = stop_;
    for (const CoverSearch& search : searches_) {
      out.offered += search.offered();
      for (const Attempt& attempt : search.attempts()) {
        if (attempt.status == AttemptStatus::kNotJudged && !attempt.reason.empty()) {
          out.not_judged = attempt.reason;
        }
        out.written += !attempt.source.empty();
        out.right += attempt.accepted();
      }
    }
    return out;
  }

  std::vector<Contender> contenders() const {
    std::vector<Contender> out;
    for (size_t i = 0; i < searches_.size(); ++i) {
      for (CoverSearch::Cover& cover : searches_[i].covers()) {
        if (has_share(searches_[i], cover)) out.push_back({i, std::move(cover)});
      }
    }
    return out;
  }

  // Returns the contenders in the order of their times as whole programs, measured in one run.
  std::vector<Contender> fastest_first(const std::vector<Contender>& contenders) {
    // Modelled times are no times of whole programs: covers are tried as they were found.
    if (contenders.size() < 2 || !evaluator_.measures()) return contenders;
    const auto phase = clock_.scope("confirm");
    report("confirming", "which of " + std::to_string(contenders.size()) + " covers is fastest");
    TimeRequest request;
    request.rounds = kCoverRounds;
    request.seed = options_.verify.seed;
    request.max_seconds = kCoverSeconds;
    request.tasks.push_back(reference_.id);
    std::vector<double> host;
    for (const Contender& contender : contenders) {
      const Task program = spliced(searches_[contender.search], contender.cover);
      host.push_back(host_seconds(program));
      request.tasks.push_back(owner_.executor_.load(program));
    }
    const TimeReport times = owner_.executor_.time(request, options_.verify.trial_deadline);
    for (size_t i = 0; i < contenders.size(); ++i) owner_.executor_.unload(request.tasks[i + 1]);
    std::vector<Contender> sorted;
    for (const RankedCover& ranked : rank_covers(times, host)) {
      sorted.push_back(contenders[ranked.index]);
      sorted.back().seconds = ranked.seconds;
      if (!times.ok()) sorted.back().untimed = times.message;
    }
    return sorted;
  }

  // Notes why a whole program is not taken; returns false.
  bool refuse(NothingGained why, std::string reason) {
    whole_failure_ = why;
    result_.message = std::move(reason);
    return false;
  }

  double verdict_over_best() const {
    return result_.verdict.calls ? result_.verdict.calls->over_best() : 0;
  }

  bool try_cover(const Contender& contender) {
    Task optimized;
    std::string python;
    try {
      optimized = spliced(searches_[contender.search], contender.cover);
      mark_premises(optimized);
      python = export_python(optimized, request_.text);
    } catch (const InputError& error) {
      return refuse(NothingGained::kFailedAsAWhole, error.what());
    }
    VerifyOptions options = options_.verify;
    options.time = evaluator_.measures();
    if (options.time && options_.compile_baseline) {
      if (compiled_package_.empty()) {
        report("confirming", "building torch.compile's version to compare with");
        const auto phase = clock_.scope("torch.compile");
        compiled_package_ = options_.compile_baseline(reference_);
      }
      options.compiled_package = compiled_package_;
    }
    const auto phase = clock_.scope("confirm");
    Task recorded;
    Verdict verdict = verifier_.verify(reference_, request_for(python), options, &recorded);
    result_.verdict = verdict;
    if (verdict.outcome != Verdict::Outcome::kAccepted) {
      return refuse(NothingGained::kFailedAsAWhole, verdict.reason);
    }
    if (const std::string where = difference(optimized, recorded); !where.empty()) {
      return refuse(
          NothingGained::kFailedAsAWhole,
          "optimized.py as it was written does not record as the program that was judged (at " +
              where + ")");
    }
    const bool slower = verdict.speedup_eager && verdict.speedup_eager->lower <= 1;
    if (slower && !options.pure) return refuse(NothingGained::kNoFaster, kNoFaster);
    if (options.time && options_.time_calls) {
      report("confirming", "the time of calls as Python makes them");
      result_.verdict.calls = options_.time_calls(python);
      if (result_.verdict.calls->is_no_gain() && !options.pure) {
        return refuse(NothingGained::kNoFaster, kNoFasterAsCalled);
      }
    }
    CoverSearch& search = searches_[contender.search];
    search.mark_chosen(contender.cover);
    chosen_ = contender.search;
    result_.optimized = std::move(optimized);
    result_.python = std::move(python);
    result_.outcome = OptimizeResult::Outcome::kImproved;
    const size_t count = contender.cover.size();
    result_.message =
        std::to_string(count) + " fragment" + (count > 1 ? "s" : "") + " written as Triton kernels";
    for (const std::string& change : search.form().changes) result_.message += ", " + change;
    const double over_best = verdict_over_best();
    if (slower) result_.message += "; not faster than PyTorch";
    if (!slower && over_best > 0 && over_best < 1) {
      result_.message += "; as Python calls it, " +
                         contestant_name(result_.verdict.calls->best_other()) + " is faster";
    }
    return true;
  }

  Optimizer& owner_;
  const RecordRequest& request_;
  const OptimizeOptions& options_;
  const std::atomic<bool>& stop_;
  const Clock::time_point start_ = Clock::now();
  Verifier verifier_;
  PhaseClock clock_;
  FamilyBias slower_;
  FragmentEvaluator evaluator_;
  Reference reference_;
  std::vector<CoverSearch> searches_;
  size_t chosen_ = 0;
  std::optional<NothingGained> whole_failure_;  // of the last cover that was tried end to end
  std::string compiled_package_;
  OptimizeResult result_;
};

double cover_seconds(const OptimizeResult& result) {
  double seconds = std::accumulate(result.step_seconds.begin(), result.step_seconds.end(), 0.0);
  for (const Attempt& a : result.attempts) {
    if (a.chosen && a.measured == result.measured) seconds += a.seconds - a.eager_seconds;
  }
  return seconds;
}

OptimizeResult Optimizer::optimize(const RecordRequest& request, const OptimizeOptions& options,
                                   const std::atomic<bool>& stop) {
  return Run(*this, request, options, stop).go();
}

}  // namespace kw
