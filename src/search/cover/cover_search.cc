#include "search/cover/cover_search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "formats/base/on_threads.h"
#include "program/rewrite/transform.h"
#include "search/cover/cover.h"
#include "search/cover/fragments.h"
#include "search/cover/roofline.h"
#include "verify/coverage/coverage.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// --- how far guesses are believed, where times are measured (factors_of() below) ---

// A fragment that was not tried yet counts as this much faster than its guess. The first factor
// lets a fragment be tried whose guess is a bit too high; the second applies while budget is left,
// the third where nothing was found otherwise.
constexpr double kHope = 0.85, kBoldHope = 0.7, kLastHope = 0.3;
// A fragment that few schedules were tried for may become this much faster with more of them.
constexpr double kShallow = 0.8;

// --- when to look again, and when to stop ---

// A second look at a fragment asks for this many times the schedules ...
constexpr int kDeepen = 8;
// ... and is worth it if the fragment takes this share of the program's time.
constexpr double kWorthDeepening = 0.03;
// A search stops after this many rounds in a row without a better cover.
constexpr int kPatience = 3;
// For a step without right kernels, at most kMany answers are asked for at once. A policy that
// draws its answers is then asked kDraws times more, each time with another seed.
constexpr int kMany = 32, kDraws = 5;

// --- prices, in seconds ---

// What a launch may cost on top of the time of its kernel. Single steps and fragments are timed
// with the host far ahead of the device; whole programs of many small steps are not.
constexpr double kLaunchGaps[] = {0, 2e-6, 5e-6};
// Added to each computing step that is left to PyTorch where none may be left: any kernels are
// cheaper.
constexpr double kLeftToPyTorch = 1e6;
// Added to right kernels that were never timed: any timed ones are cheaper.
constexpr double kUntimed = 10;

double sum_over(const std::vector<int>& steps, const std::vector<double>& seconds) {
  double sum = 0;
  for (int i : steps) sum += seconds[i];
  return sum;
}

// Returns "silu mul" for "aten.silu.default" and "aten.mul.Tensor".
std::string operator_names(const Program& program, const std::vector<int>& steps) {
  std::string names;
  for (int i : steps) {
    const std::string& op = std::get<AtenCall>(program.steps[i]).op;
    names += (names.empty() ? "" : " ") + op.substr(5, op.find('.', 5) - 5);
  }
  return names;
}

}  // namespace

// Factors on the times of fragments: on a guess, and on a time that few schedules were tried for.
struct CoverSearch::Factors {
  double guess, shallow;
};

CoverSearch::Factors CoverSearch::factors_of(Trust trust) {
  switch (trust) {
    case Trust::kKnown:  // counts no guesses
    case Trust::kExpected:
      return {1, 1};
    case Trust::kHopeful:
      return {kHope, 1};
    case Trust::kDeepening:
      return {kHope, kShallow};
    case Trust::kBold:
      return {kBoldHope, kShallow};
    case Trust::kUnlikely:
      return {kLastHope, kShallow};
  }
  return {1, 1};
}

CoverSearch::CoverSearch(Form form, Policy& policy, Evaluator& evaluator, FamilyBias& slower,
                         const DeviceProfile& profile, const OptimizeOptions& options,
                         PhaseClock& clock, ProgressSink progress)
    : form_(std::move(form)),
      policy_(policy),
      evaluator_(evaluator),
      slower_(slower),
      profile_(profile),
      options_(options),
      clock_(clock),
      progress_sink_(std::move(progress)),
      dependencies_(step_dependencies(program().forward, program().kernels)) {
  for (const Step& step : program().forward.steps) {
    step_seconds_.push_back(kw::step_seconds(program().forward, step, profile_));
  }
  step_measured_.resize(step_seconds_.size());
}

void CoverSearch::report(const std::string& phase, const std::string& detail) {
  progress_.phase = phase;
  progress_.detail = form_.name.empty() ? detail : form_.name + ": " + detail;
  if (progress_sink_) progress_sink_(progress_);
}

bool CoverSearch::settle(const SearchLimit& limit) {
  progress_.done = progress_.total = 0;
  const bool cut = options_.verify.pure && !write_all(limit) && limit.over();
  return settle(Trust::kHopeful, limit) && !cut;
}

bool CoverSearch::begin(const SearchLimit& limit) {
  if (!offer(1, limit)) return false;
  progress_.done = progress_.total = 0;
  return write_all(limit);
}

bool CoverSearch::refine(const SearchLimit& limit) {
  const bool first = settle(Trust::kDeepening, limit);
  return settle(Trust::kBold, limit) && first;
}

void CoverSearch::know_steps(const std::map<int, double>& measured) {
  for (const auto& [step, seconds] : measured) {
    step_seconds_[step] = seconds;
    step_measured_[step] = true;
  }
  for (Candidate& candidate : candidates_) price(candidate);
}

double CoverSearch::eager_seconds() const {
  return std::accumulate(step_seconds_.begin(), step_seconds_.end(), 0.0);
}

bool CoverSearch::offer_fragments(const SearchLimit& limit) {
  return offer(options_.max_steps, limit);
}

bool CoverSearch::offer(int max_steps, const SearchLimit& limit) {
  const auto phase = clock_.scope("plan");
  std::vector<std::vector<int>> fragments =
      enumerate_fragments(program(), {.max_steps = max_steps});
  if (policy_.draws()) {  // a model may know an operator with its views, or without them
    const auto more = enumerate_fragments(program(), {.max_steps = 1, .with_views = true});
    fragments.insert(fragments.end(), more.begin(), more.end());
    std::set<std::vector<int>> known;
    std::erase_if(fragments, [&](const auto& steps) { return !known.insert(steps).second; });
  }
  std::erase_if(fragments, [&](const auto& steps) { return offered_.contains(steps); });
  progress_.done = 0;
  progress_.total = static_cast<int>(fragments.size());
  // Number of fragments between two looks at the clock.
  const size_t part = 8 * static_cast<size_t>(std::max(evaluator_.threads(), 1));
  for (size_t first = 0; first < fragments.size(); first += part) {
    if (limit.over()) return false;
    report("planning", "fragments");
    const size_t last = std::min(first + part, fragments.size());
    std::vector<std::optional<Guess>> guesses(last - first);
    on_threads(evaluator_.threads(), guesses.size(), [&](size_t i) {
      guesses[i] = policy_.guess(cut(program(), fragments[first + i]).task, profile_);
    });
    for (size_t i = first; i < last; ++i) {
      offered_.insert(fragments[i]);
      const std::optional<Guess>& guess = guesses[i - first];
      if (!guess) continue;
      Candidate candidate;
      candidate.steps = fragments[i];
      candidate.eager_seconds = sum_over(fragments[i], step_seconds_);
      candidate.seconds = candidate.guess = guess->seconds;
      candidate.family = guess->family;
      candidates_.push_back(std::move(candidate));
    }
    progress_.done = static_cast<int>(last);
  }
  return true;
}

// Sets the candidate's times from those of its steps. Its kernels' time is PyTorch's time for the
// steps less what the kernels saved in the run that timed both, so that covers stay comparable.
void CoverSearch::price(Candidate& candidate) const {
  candidate.eager_seconds = sum_over(candidate.steps, step_seconds_);
  if (candidate.best && evaluator_.measures()) {
    candidate.seconds = candidate.eager_seconds - candidate.best->saved;
  }
}

// Returns the best cover by what is known now if each launch takes `gap` seconds more. `seconds`,
// unless null, receives the cover's time.
CoverSearch::Cover CoverSearch::best(Trust trust, double gap, double* seconds) const {
  const bool known_alone = trust == Trust::kKnown;
  const Factors factors = factors_of(trust);
  std::vector<CoverOption> options;
  std::vector<int> index;
  for (size_t c = 0; c < candidates_.size(); ++c) {
    const Candidate& candidate = candidates_[c];
    if (candidate.state == State::kUnusable) continue;
    if (known_alone && candidate.state == State::kGuessed) continue;
    double seconds = candidate.seconds;
    if (!known_alone && candidate.tried == 0) {
      seconds = candidate.guess * factors.guess * slower_.factor(candidate.family);
    } else if (known_alone && candidate.state == State::kRight) {
      seconds += kUntimed;
    } else if (!is_settled(candidate)) {
      seconds *= factors.shallow;
    }
    options.push_back({candidate.steps, seconds + gap});
    index.push_back(static_cast<int>(c));
  }
  std::vector<double> singles = step_seconds_;
  for (size_t i = 0; i < singles.size(); ++i) {
    singles[i] += singles[i] > 0 ? gap : 0;
    if (options_.verify.pure && is_computing(program().forward.steps[i])) {
      singles[i] += kLeftToPyTorch;
    }
  }
  const kw::Cover found = best_cover(dependencies_, singles, options);
  if (seconds) *seconds = found.seconds;
  Cover out;
  for (int o : found.options) out.push_back(index[o]);
  std::sort(out.begin(), out.end());
  return out;
}

// Returns, for each of the steps, the smallest fragments that contain it: those with the fewest
// computing steps, with and without the views around them.
CoverSearch::Cover CoverSearch::smallest_with(const std::vector<int>& steps) const {
  const auto computing = [&](size_t c) {
    std::vector<int> out = candidates_[c].steps;
    std::erase_if(out, [&](int i) { return !is_computing(program().forward.steps[i]); });
    return out;
  };
  std::set<int> out;
  for (int step : steps) {
    std::vector<int> smallest;  // computing steps of the smallest fragments so far
    std::vector<size_t> its;    // those fragments
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (!std::ranges::binary_search(candidates_[c].steps, step)) continue;
      const std::vector<int> other = computing(c);
      if (smallest.empty() || other.size() < smallest.size()) {
        smallest = other;
        its.clear();
      }
      if (other == smallest) its.push_back(c);
    }
    out.insert(its.begin(), its.end());
  }
  return {out.begin(), out.end()};
}

// Asks the policy about every step that no fragment with right kernels contains. It asks about the
// smallest fragments with the step: first for the best answer, then for a few, then for many. A
// policy that draws its answers is asked again with other seeds. Returns whether no such step is
// left.
bool CoverSearch::write_all(const SearchLimit& limit) {
  const bool draws = policy_.draws();
  // A single answer may be the likeliest one for every seed, so at least two are drawn.
  const int few = std::max(options_.proposals, draws ? 2 : 1);
  const int many = std::max(few, std::min(kDeepen * few, kMany));
  const int rounds = draws ? 2 + kDraws : 3;
  while (true) {
    const std::vector<int> left = steps_without(has_kernels);
    Cover missing = smallest_with(left);
    std::erase_if(missing, [&](int c) { return candidates_[c].rounds >= rounds; });
    if (missing.empty()) return left.empty();
    if (limit.over()) return false;
    progress_.total = progress_.done + static_cast<int>(missing.size());
    evaluate(missing, limit, [&](const Candidate& candidate) {
      const int round = candidate.rounds;
      return Effort{.proposals = round == 0   ? 1
                                 : round == 1 ? few
                                              : many,
                    .any_right = true,
                    .seed = draws ? static_cast<uint64_t>(round) : 0,
                    .as_it_is = round % 2 == 1};
    });
  }
}

double CoverSearch::seconds_of(const Cover& cover) const {
  double seconds = eager_seconds();
  for (int c : cover) seconds += candidates_[c].seconds - candidates_[c].eager_seconds;
  return seconds;
}

double CoverSearch::expected_seconds() const {
  double seconds = 0;
  best(Trust::kExpected, 0, &seconds);
  return seconds;
}

double CoverSearch::hoped_seconds() const {
  double seconds = 0;
  best(Trust::kDeepening, 0, &seconds);
  return seconds;
}

double CoverSearch::known_seconds() const {
  double seconds = 0;
  best(Trust::kKnown, 0, &seconds);
  return seconds;
}

bool CoverSearch::is_settled(const Candidate& candidate) const {
  return candidate.tried >= kDeepen * options_.proposals || !evaluator_.measures();
}

// Returns the fragments of the best cover that need a first look, or deserve a second one.
CoverSearch::Cover CoverSearch::open(Trust trust) const {
  const double worth = kWorthDeepening * seconds_of(best(Trust::kKnown, 0, nullptr));
  const bool looks_again = factors_of(trust).shallow < 1;
  Cover out = best(trust, 0, nullptr);
  std::erase_if(out, [&](int c) {
    const Candidate& candidate = candidates_[c];
    if (candidate.tried == 0) return false;
    return !looks_again || is_settled(candidate) || candidate.seconds < worth;
  });
  return out;
}

// Evaluates what open() returns until it returns nothing, or rounds stop bringing better covers.
// Returns false if the limit came first.
bool CoverSearch::settle(Trust trust, const SearchLimit& limit) {
  if (!evaluator_.measures()) trust = Trust::kExpected;
  double shortest = known_seconds();
  for (int in_vain = 0; in_vain < kPatience;) {
    const Cover next = open(trust);
    progress_.total = progress_.done + static_cast<int>(next.size());
    if (next.empty()) return true;
    if (limit.over()) return false;
    evaluate(next, limit, [&](const Candidate& candidate) {
      return Effort{.proposals = options_.proposals * (candidate.tried ? kDeepen : 1)};
    });
    const double seconds = known_seconds();
    if (seconds > 0 && seconds < kUntimed) progress_.best = eager_seconds() / seconds;
    // A round of rejections must not end the search. Without measurements the loop ends by itself:
    // one look settles a fragment.
    const auto is_timed = [&](int c) { return candidates_[c].state == State::kTimed; };
    if (!evaluator_.measures() || std::ranges::none_of(next, is_timed)) continue;
    in_vain = seconds < shortest ? 0 : in_vain + 1;
    shortest = std::min(shortest, seconds);
  }
  return true;
}

// Evaluates the chosen fragments in groups. A group has enough builds for the workers, and not so
// many that the end of the budget finds much half done. If one right answer will do, fewer builds
// are needed, and a policy that is waited for writes as many answers at once as it can.
void CoverSearch::evaluate(const Cover& chosen, const SearchLimit& limit,
                           const std::function<Effort(const Candidate&)>& effort) {
  for (size_t first = 0; first < chosen.size() && !limit.over();) {
    std::vector<EvaluationRequest> requests;
    std::string names;
    int building = 0, most = 1;
    size_t last = first;
    for (; last < chosen.size() && building < most; ++last) {
      const Candidate& candidate = candidates_[chosen[last]];
      const Effort its = effort(candidate);
      requests.push_back({cut(program(), candidate.steps), candidate.eager_seconds, its, {}});
      if (candidate.state == State::kRight) {
        requests.back().known = candidate.attempts[candidate.best->attempt];
      }
      names += (last == first ? "" : ", ") + operator_names(program().forward, candidate.steps);
      const bool draws = policy_.draws();
      building += its.any_right && !draws ? 1 : its.proposals;
      most = 2 * evaluator_.threads();
      if (its.any_right) most = std::max(most, policy_.at_once());
    }
    report("searching", names);
    std::vector<EvaluationResult> found = evaluator_.evaluate(requests, limit);
    for (size_t i = first; i < last; ++i) {
      take(candidates_[chosen[i]], requests[i - first].effort, std::move(found[i - first]));
    }
    progress_.done += static_cast<int>(last - first);
    first = last;
  }
}

void CoverSearch::take(Candidate& candidate, const Effort& effort, EvaluationResult found) {
  const bool timed = evaluator_.measures() && !effort.any_right;
  // What the limit cut short may be looked at again, and is not unusable for it.
  if (timed || !evaluator_.measures()) {
    if (!found.cut_short) candidate.tried = std::max(candidate.tried, effort.proposals);
    if (found.cut_short && found.best) candidate.tried = std::max(candidate.tried, 1);
  }
  if (effort.any_right && !found.cut_short) ++candidate.rounds;
  // A second look that was cut short, or found nothing better, takes nothing away.
  const bool better =
      found.best && (!candidate.best || (timed && candidate.state == State::kRight) ||
                     found.seconds < candidate.best->seconds);
  const size_t best_attempt = add_attempts(candidate, found, better);
  if (!better) {
    if (!candidate.best && candidate.tried > 0) candidate.state = State::kUnusable;
    return;
  }
  if (!candidate.best) candidate.best.emplace();
  candidate.best->task = std::move(*found.best);
  candidate.best->attempt = best_attempt;
  if (!evaluator_.measures()) {
    candidate.state = State::kTimed;
    candidate.seconds = candidate.best->seconds = found.seconds;
    return;
  }
  candidate.state = State::kRight;
  if (timed) {
    if (found.seconds > 0) candidate.state = State::kTimed;
    candidate.best->seconds = found.seconds;
    candidate.best->saved = found.eager_seconds - found.seconds;
    slower_.learn(candidate.family, found.seconds / candidate.guess);
  }
  price(candidate);
}

// Adds the attempts of an evaluation to those of the candidate. An attempt with a known text
// replaces the known one if the evaluation brought better kernels and accepted it, or if the known
// one was not accepted. Returns the place of the evaluation's best attempt, if `better`.
size_t CoverSearch::add_attempts(Candidate& candidate, EvaluationResult& found, bool better) {
  size_t best = 0;
  for (size_t i = 0; i < found.attempts.size(); ++i) {
    const auto same = [&](const Attempt& known) {  // two answers without a text are not the same
      return !known.source.empty() && known.source == found.attempts[i].source;
    };
    auto at = std::find_if(candidate.attempts.begin(), candidate.attempts.end(), same);
    if (at == candidate.attempts.end()) {
      at = candidate.attempts.insert(at, std::move(found.attempts[i]));
    } else if ((better && found.attempts[i].accepted()) || !at->accepted()) {
      *at = std::move(found.attempts[i]);
    }
    if (better && i == found.best_attempt) {
      best = static_cast<size_t>(at - candidate.attempts.begin());
    }
  }
  return best;
}

std::vector<CoverSearch::Cover> CoverSearch::covers() const {
  std::vector<Cover> out;
  for (double gap : kLaunchGaps) {
    if (gap > 0 && !evaluator_.measures()) break;
    Cover cover = best(Trust::kKnown, gap, nullptr);
    if (options_.verify.pure && leaves_steps(cover)) continue;
    const bool known = std::find(out.begin(), out.end(), cover) != out.end();
    if (!cover.empty() && !known) out.push_back(std::move(cover));
  }
  return out;
}

// Returns whether a computing step is left to PyTorch. The cover's time does not say so: its
// fragments may save more than kLeftToPyTorch.
bool CoverSearch::leaves_steps(const Cover& cover) const {
  std::set<int> covered;
  for (int c : cover) covered.insert(candidates_[c].steps.begin(), candidates_[c].steps.end());
  const std::vector<Step>& steps = program().forward.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (is_computing(steps[i]) && !covered.contains(static_cast<int>(i))) return true;
  }
  return false;
}

// Returns the computing steps that are in no fragment for which `counts` returns true.
std::vector<int> CoverSearch::steps_without(
    const std::function<bool(const Candidate&)>& counts) const {
  std::set<int> covered;
  for (const Candidate& candidate : candidates_) {
    if (counts(candidate)) covered.insert(candidate.steps.begin(), candidate.steps.end());
  }
  std::vector<int> out;
  for (size_t i = 0; i < program().forward.steps.size(); ++i) {
    const int step = static_cast<int>(i);
    if (is_computing(program().forward.steps[i]) && !covered.contains(step)) out.push_back(step);
  }
  return out;
}

std::vector<std::string> CoverSearch::uncovered() const {
  constexpr size_t kFew = 5;
  std::vector<std::string> out;
  for (int step : steps_without(has_kernels)) {
    const Cover smallest = smallest_with({step});
    const auto was_asked = [&](int c) {
      return candidates_[c].tried > 0 || candidates_[c].rounds > 0;
    };
    // True too if there is no fragment to ask about.
    const bool nothing_right = std::ranges::all_of(smallest, was_asked);
    if (nothing_right && out.size() < kFew)
      out.push_back(operator_names(program().forward, {step}));
  }
  return out;
}

std::vector<Replacement> CoverSearch::replacements(const Cover& cover) const {
  std::vector<Replacement> out;
  for (int c : cover)
    out.push_back({cut(program(), candidates_[c].steps), candidates_[c].best->task});
  return out;
}

void CoverSearch::drop_weakest(const Cover& cover, const std::string& reason) {
  if (cover.empty()) return;
  auto saves = [&](int c) { return candidates_[c].eager_seconds - candidates_[c].seconds; };
  Candidate& weakest = candidates_[*std::min_element(
      cover.begin(), cover.end(), [&](int a, int b) { return saves(a) < saves(b); })];
  weakest.attempts[weakest.best->attempt].reason = reason;
  weakest.state = State::kUnusable;
}

void CoverSearch::mark_chosen(const Cover& cover) {
  for (int c : cover) candidates_[c].attempts[candidates_[c].best->attempt].chosen = true;
}

size_t CoverSearch::tried() const {
  return static_cast<size_t>(std::ranges::count_if(
      candidates_, [](const Candidate& c) { return c.state != State::kGuessed; }));
}

std::vector<Attempt> CoverSearch::attempts() const {
  std::vector<Attempt> out;
  for (const Candidate& candidate : candidates_) {
    out.insert(out.end(), candidate.attempts.begin(), candidate.attempts.end());
  }
  return out;
}

}  // namespace kw
