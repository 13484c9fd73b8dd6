#include "search/cover/cover_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "formats/base/on_threads.h"
#include "program/rewrite/transform.h"
#include "search/cover/cover.h"
#include "search/cover/fragments.h"
#include "search/cover/roofline.h"
#include "verify/coverage.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// Where times are measured, a fragment that was not tried yet counts as this much faster than it is
// thought to be: first a little, so that one whose guess is a bit off is tried too; while budget is
// left, more.
constexpr double kOptimism[] = {0.85, 0.7};
// Rounds in a row without a better cover, after which more of them are not worth it.
constexpr int kPatience = 3;
// A fragment that matters is looked at again, with this many times the schedules. That may make it
// so much faster; it matters when it takes this share of the program.
constexpr int kDeepen = 8;
constexpr double kShallow = 0.8;
constexpr double kWorthDeepening = 0.03;
// For what has no right kernels so many answers are asked for at most, and drawn so often.
constexpr int kMany = 32, kDraws = 5;
// Seconds a launch may cost beside what it takes alone: single steps and fragments are timed with
// the host far ahead of the device, whole programs of many small steps are not.
constexpr double kLaunchGaps[] = {0, 2e-6, 5e-6};
// Seconds that a step of PyTorch's counts more where none may be left: any kernels are better. And
// that kernels count more which were never timed, so that any others are better.
constexpr double kLeftToPyTorch = 1e6, kUntimed = 10;
// Covers are made of evaluated fragments only.
constexpr double kNoGuesses = std::numeric_limits<double>::infinity();

// "aten.silu.default" and "aten.mul.Tensor": "silu mul".
std::string operator_names(const Program& program, const std::vector<int>& steps) {
  std::string names;
  for (int i : steps) {
    const std::string& op = std::get<AtenCall>(program.steps[i]).op;
    names += (names.empty() ? "" : " ") + op.substr(5, op.find('.', 5) - 5);
  }
  return names;
}

}  // namespace

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
  return settle({kOptimism[0], 1}, limit) && !cut;
}

bool CoverSearch::begin(const SearchLimit& limit) {
  if (!offer(1, limit)) return false;
  progress_.done = progress_.total = 0;
  return write_all(limit);
}

bool CoverSearch::refine(const SearchLimit& limit) {
  bool done = true;
  for (double optimism : kOptimism) done = settle({optimism, kShallow}, limit) && done;
  return done;
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

double CoverSearch::eager_seconds(const std::vector<int>& steps) const {
  double sum = 0;
  for (int i : steps) sum += step_seconds_[i];
  return sum;
}

bool CoverSearch::offer_fragments(const SearchLimit& limit) {
  return offer(options_.max_steps, limit);
}

bool CoverSearch::offer(int max_steps, const SearchLimit& limit) {
  const auto phase = clock_.scope("plan");
  std::vector<std::vector<int>> fragments =
      enumerate_fragments(program(), {.max_steps = max_steps});
  if (policy_.draws()) {  // models may know an operator with its views, or without
    const auto more = enumerate_fragments(program(), {.max_steps = 1, .with_views = true});
    fragments.insert(fragments.end(), more.begin(), more.end());
    std::set<std::vector<int>> known;
    std::erase_if(fragments, [&](const auto& steps) { return !known.insert(steps).second; });
  }
  std::erase_if(fragments, [&](const auto& steps) { return offered_.contains(steps); });
  progress_.done = 0;
  progress_.total = static_cast<int>(fragments.size());
  // Between looks at the clock.
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
      candidate.eager_seconds = eager_seconds(fragments[i]);
      candidate.seconds = candidate.guess = guess->seconds;
      candidate.family = guess->family;
      candidates_.push_back(std::move(candidate));
    }
    progress_.done = static_cast<int>(last);
  }
  return true;
}

// PyTorch's time for the group as measured, spread over the steps, keeps covers comparable: what
// counts is how much the group saves.
void CoverSearch::price(Candidate& candidate) const {
  candidate.eager_seconds = eager_seconds(candidate.steps);
  if (candidate.task && evaluator_.measures()) {
    candidate.seconds = candidate.eager_seconds - candidate.saved;
  }
}

// The best cover with what is known now, each launch `gap` seconds more; `seconds` receives the
// cover's time.
CoverSearch::Cover CoverSearch::best(Trust trust, double gap, double* seconds) const {
  std::vector<CoverOption> options;
  std::vector<int> index;
  for (size_t c = 0; c < candidates_.size(); ++c) {
    const Candidate& candidate = candidates_[c];
    const bool known = trust.guess == kNoGuesses;
    if (!candidate.usable || (known && !candidate.tried && !candidate.task)) continue;
    double seconds = candidate.seconds;
    if (!known && !candidate.tried) {
      seconds = candidate.guess * trust.guess * slower_.factor(candidate.family);
    } else if (known && is_untimed(candidate)) {
      seconds += kUntimed;
    } else if (!is_settled(candidate)) {
      seconds *= trust.shallow;
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

// For each of the steps the smallest fragment with it, with and without the views about it.
CoverSearch::Cover CoverSearch::smallest_with(const std::vector<int>& steps) const {
  const auto computing = [&](size_t c) {
    std::vector<int> out = candidates_[c].steps;
    std::erase_if(out, [&](int i) { return !is_computing(program().forward.steps[i]); });
    return out;
  };
  std::set<int> out;
  for (int step : steps) {
    std::vector<int> smallest;  // its steps that compute
    std::vector<size_t> its;
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

// Of each step that no fragment with right kernels has, the smallest ones with it are asked for:
// the policy's best answer first, then a few, then many, and many others where it draws them.
bool CoverSearch::write_all(const SearchLimit& limit) {
  const bool draws = policy_.draws();
  // One answer alone may be the likeliest, whatever the seed.
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

bool CoverSearch::is_untimed(const Candidate& candidate) const {
  return evaluator_.measures() && candidate.task && candidate.best_seconds == 0;
}

double CoverSearch::seconds_of(const Cover& cover) const {
  double seconds = eager_seconds();
  for (int c : cover) seconds += candidates_[c].seconds - candidates_[c].eager_seconds;
  return seconds;
}

double CoverSearch::expected_seconds() const {
  double seconds = 0;
  best({1, 1}, 0, &seconds);
  return seconds;
}

double CoverSearch::hoped_seconds() const {
  double seconds = 0;
  best({kOptimism[0], kShallow}, 0, &seconds);
  return seconds;
}

double CoverSearch::known_seconds() const {
  double seconds = 0;
  best({kNoGuesses, 1}, 0, &seconds);
  return seconds;
}

bool CoverSearch::is_settled(const Candidate& candidate) const {
  return candidate.tried >= kDeepen * options_.proposals || !evaluator_.measures();
}

// What is yet to be looked at, or looked at again, of the best cover.
CoverSearch::Cover CoverSearch::open(Trust trust) const {
  const double worth = kWorthDeepening * seconds_of(best({kNoGuesses, 1}, 0, nullptr));
  Cover out = best(trust, 0, nullptr);
  std::erase_if(out, [&](int c) {
    const Candidate& candidate = candidates_[c];
    if (!candidate.tried) return false;
    return trust.shallow >= 1 || is_settled(candidate) || candidate.seconds < worth;
  });
  return out;
}

// Guesses say what to try: the best cover is evaluated where it was not, until it is made of
// evaluated fragments only. False when time ran out before.
bool CoverSearch::settle(Trust trust, const SearchLimit& limit) {
  if (!evaluator_.measures()) trust = {1, 1};
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
    // Rejected ones must not end the search; without measurements every guess is settled.
    const auto accepted = [&](int c) {
      return has_kernels(candidates_[c]) && !is_untimed(candidates_[c]);
    };
    if (!evaluator_.measures() || std::none_of(next.begin(), next.end(), accepted)) continue;
    in_vain = seconds < shortest ? 0 : in_vain + 1;
    shortest = std::min(shortest, seconds);
  }
  return true;
}

// A few fragments at a time are built together: enough for the workers, and not so many that a
// budget's end finds much half done. Where one answer will do there is less to build, and a policy
// that is waited for writes as many as it can.
void CoverSearch::evaluate(const Cover& chosen, const SearchLimit& limit,
                           const std::function<Effort(const Candidate&)>& effort) {
  for (size_t first = 0; first < chosen.size() && !limit.over();) {
    std::vector<Asked> asked;
    std::string names;
    int building = 0, most = 1;
    size_t last = first;
    for (; last < chosen.size() && building < most; ++last) {
      const Candidate& candidate = candidates_[chosen[last]];
      const Effort its = effort(candidate);
      asked.push_back({cut(program(), candidate.steps), candidate.eager_seconds, its, {}});
      if (is_untimed(candidate)) asked.back().known = candidate.attempts[candidate.best_attempt];
      names += (last == first ? "" : ", ") + operator_names(program().forward, candidate.steps);
      const bool draws = policy_.draws();
      building += its.any_right && !draws ? 1 : its.proposals;
      most = 2 * evaluator_.threads();
      if (its.any_right) most = std::max(most, policy_.at_once());
    }
    report("searching", names);
    std::vector<Evaluated> found = evaluator_.evaluate(asked, limit);
    for (size_t i = first; i < last; ++i) {
      take(candidates_[chosen[i]], asked[i - first].effort, std::move(found[i - first]));
    }
    progress_.done += static_cast<int>(last - first);
    first = last;
  }
}

void CoverSearch::take(Candidate& candidate, const Effort& effort, Evaluated found) {
  const bool timed = evaluator_.measures() && !effort.any_right;
  const bool was_timed = candidate.best_seconds > 0;
  // What the limit cut may be looked at again, and what it kept from being judged is not unusable.
  if (timed || !evaluator_.measures()) {
    if (!found.cut_short) candidate.tried = std::max(candidate.tried, effort.proposals);
    if (found.cut_short && found.best) candidate.tried = std::max(candidate.tried, 1);
  }
  if (effort.any_right && !found.cut_short) ++candidate.rounds;
  // A second look that was cut short, or found nothing better, takes nothing away.
  const bool better = found.best && (!candidate.task || (timed && !was_timed) ||
                                     found.seconds < candidate.best_seconds);
  for (size_t i = 0; i < found.attempts.size(); ++i) {
    const auto same = [&](const Attempt& known) {  // answers without a text are no texts
      return !known.source.empty() && known.source == found.attempts[i].source;
    };
    auto at = std::find_if(candidate.attempts.begin(), candidate.attempts.end(), same);
    if (at == candidate.attempts.end()) {
      at = candidate.attempts.insert(at, std::move(found.attempts[i]));
    } else if ((better && found.attempts[i].accepted()) || !at->accepted()) {
      *at = std::move(found.attempts[i]);
    }
    if (better && i == found.best_attempt) {
      candidate.best_attempt = static_cast<size_t>(at - candidate.attempts.begin());
    }
  }
  if (!better) {
    if (!candidate.task && candidate.tried > 0) candidate.usable = false;
    return;
  }
  candidate.usable = true;
  candidate.task = std::move(found.best);
  if (!evaluator_.measures()) {
    candidate.seconds = candidate.best_seconds = found.seconds;
    return;
  }
  if (timed) {
    candidate.best_seconds = found.seconds;
    candidate.saved = found.eager_seconds - found.seconds;
    slower_.learn(candidate.family, found.seconds / candidate.guess);
  }
  price(candidate);
}

std::vector<CoverSearch::Cover> CoverSearch::covers() const {
  std::vector<Cover> out;
  for (double gap : kLaunchGaps) {
    if (gap > 0 && !evaluator_.measures()) break;
    Cover cover = best({kNoGuesses, 1}, gap, nullptr);
    if (options_.verify.pure && leaves_steps(cover)) continue;
    const bool known = std::find(out.begin(), out.end(), cover) != out.end();
    if (!cover.empty() && !known) out.push_back(std::move(cover));
  }
  return out;
}

// Its time does not say: others may save more than what a step that is left counts.
bool CoverSearch::leaves_steps(const Cover& cover) const {
  std::set<int> covered;
  for (int c : cover) covered.insert(candidates_[c].steps.begin(), candidates_[c].steps.end());
  const std::vector<Step>& steps = program().forward.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (is_computing(steps[i]) && !covered.contains(static_cast<int>(i))) return true;
  }
  return false;
}

// Those that compute, and that no fragment has which `counts`.
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
    const bool nothing_right = std::ranges::all_of(smallest, was_asked);  // or nothing to ask for
    if (nothing_right && out.size() < kFew)
      out.push_back(operator_names(program().forward, {step}));
  }
  return out;
}

std::vector<Replacement> CoverSearch::replacements(const Cover& cover) const {
  std::vector<Replacement> out;
  for (int c : cover) out.push_back({cut(program(), candidates_[c].steps), *candidates_[c].task});
  return out;
}

void CoverSearch::drop_weakest(const Cover& cover, const std::string& reason) {
  if (cover.empty()) return;
  auto saves = [&](int c) { return candidates_[c].eager_seconds - candidates_[c].seconds; };
  Candidate& weakest = candidates_[*std::min_element(
      cover.begin(), cover.end(), [&](int a, int b) { return saves(a) < saves(b); })];
  weakest.attempts[weakest.best_attempt].reason = reason;
  weakest.usable = false;
}

void CoverSearch::mark_chosen(const Cover& cover) {
  for (int c : cover) candidates_[c].attempts[candidates_[c].best_attempt].chosen = true;
}

size_t CoverSearch::tried() const {
  return static_cast<size_t>(
      std::count_if(candidates_.begin(), candidates_.end(),
                    [](const Candidate& c) { return c.tried > 0 || c.task; }));
}

std::vector<Attempt> CoverSearch::attempts() const {
  std::vector<Attempt> out;
  for (const Candidate& candidate : candidates_) {
    out.insert(out.end(), candidate.attempts.begin(), candidate.attempts.end());
  }
  return out;
}

}  // namespace kw
