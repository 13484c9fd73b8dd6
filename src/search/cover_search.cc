#include "search/cover_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "program/transform.h"
#include "search/cover.h"
#include "search/fragments.h"
#include "search/roofline.h"
#include "verify/statistics.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// Where times are measured, a fragment that was not tried yet counts as this much faster than it is
// thought to be: first a little, so that one whose guess is a bit off is tried too; while budget is
// left, more.
constexpr double kOptimism[] = {0.85, 0.7, 0.55};
// Rounds in a row without a better cover, after which more of them are not worth it.
constexpr int kPatience = 3;
// The fragments that take most of the program's time get this many times the schedules.
constexpr int kDeepen = 8;
constexpr double kDeepenShare = 0.15;
// Seconds a launch may cost beside what it takes alone: single steps and fragments are timed with
// the host far ahead of the device, whole programs of many small steps are not.
constexpr double kLaunchGaps[] = {0, 2e-6, 5e-6};
// Values of steps that are timed side by side.
constexpr int64_t kGroupBytes = int64_t{4} << 30;

// Covers are made of evaluated fragments only.
constexpr double kNoGuesses = std::numeric_limits<double>::infinity();
constexpr int kProposalsTogether = 32;

// "aten.silu.default" and "aten.mul.Tensor": "silu mul".
std::string operator_names(const Program& program, const std::vector<int>& steps) {
  std::string names;
  for (int i : steps) {
    const std::string& op = std::get<AtenCall>(program.steps[i]).op;
    names += (names.empty() ? "" : " ") + op.substr(5, op.find('.', 5) - 5);
  }
  return names;
}

// What flows into a program and out of it.
int64_t bytes_alive(const Program& program) {
  int64_t bytes = 0;
  for (const auto* ids : {&program.inputs, &program.outputs}) {
    for (ValueId id : *ids) bytes += program.values[id].bytes();
  }
  return bytes;
}

}  // namespace

CoverSearch::CoverSearch(Form form, ExecutorClient& executor, Policy& policy,
                         FragmentEvaluator& evaluator, const DeviceProfile& profile,
                         const OptimizeOptions& options, PhaseClock& clock, ProgressSink progress)
    : form_(std::move(form)),
      executor_(executor),
      policy_(policy),
      evaluator_(evaluator),
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
  return settle(kOptimism[0], limit);
}

void CoverSearch::refine(const SearchLimit& limit) {
  settle(kOptimism[0], limit);
  deepen(limit);
  for (double optimism : kOptimism) settle(optimism, limit);
}

// Each computing step alone, as a fragment of its own: PyTorch's time for it on values that really
// flow there. Steps whose values fit on the device together are timed in one interleaved run.
void CoverSearch::measure_steps(double seconds, const SearchLimit& limit) {
  report("measuring", "PyTorch's time for each step");
  const auto phase = clock_.scope("steps");
  std::vector<std::vector<int>> groups;
  int64_t bytes = kGroupBytes;
  size_t count = 0;
  for (const auto& single : enumerate_fragments(program(), {.max_steps = 1})) {
    if (single.size() != 1) continue;
    const int64_t more = bytes_alive(cut(program(), single).task.forward);
    if (bytes + more > kGroupBytes) groups.emplace_back(), bytes = 0;
    groups.back().push_back(single[0]);
    bytes += more;
    ++count;
  }
  for (const std::vector<int>& group : groups) {
    const double part = seconds * static_cast<double>(group.size()) / static_cast<double>(count);
    if (limit.over()) return;
    if (time_steps(group, part) || group.size() == 1) continue;
    // One that cannot be timed must not keep the others from it.
    for (int step : group) {
      if (limit.over()) return;
      time_steps({step}, part / static_cast<double>(group.size()));
    }
  }
}

bool CoverSearch::time_steps(const std::vector<int>& steps, double seconds) {
  TimeRequest request;
  for (int step : steps) request.tasks.push_back(executor_.load(cut(program(), {step}).task));
  request.rounds = 20;
  request.input_sets = 1;
  request.own_inputs = true;
  request.seed = options_.verify.seed;
  request.max_seconds = seconds;
  const TimeReport times = executor_.time(request, options_.verify.trial_deadline);
  for (int task : request.tasks) executor_.unload(task);
  if (times.status != "ok") return false;
  for (size_t i = 0; i < steps.size(); ++i) {
    step_seconds_[steps[i]] = 1e-3 * median(times.device_ms[i]);
    step_measured_[steps[i]] = true;
  }
  return true;
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
  const auto phase = clock_.scope("plan");
  const auto fragments = enumerate_fragments(program(), {.max_steps = options_.max_steps});
  progress_.total = static_cast<int>(fragments.size());
  for (const auto& steps : fragments) {
    if (limit.over()) return false;
    ++progress_.done;
    if (progress_.done % 64 == 1) report("planning", "fragments");
    const Fragment fragment = cut(program(), steps);
    const auto soon = Clock::now() + std::chrono::seconds(5);
    const auto proposals = policy_.propose(fragment.task, profile_, 1, 0, soon);
    if (proposals.empty()) continue;
    Candidate candidate;
    candidate.steps = steps;
    candidate.eager_seconds = eager_seconds(steps);
    candidate.seconds = proposals[0].model_seconds;
    candidate.family = proposals[0].family;
    candidates_.push_back(std::move(candidate));
  }
  return true;
}

// The best cover with what is known now. Guesses count `optimism` times what they say, each launch
// `gap` seconds more; `seconds` receives the cover's time.
CoverSearch::Cover CoverSearch::best(double optimism, double gap, double* seconds) const {
  std::vector<CoverOption> options;
  std::vector<int> index;
  for (size_t c = 0; c < candidates_.size(); ++c) {
    if (!candidates_[c].usable) continue;
    const double trust =
        candidates_[c].evaluated ? 1.0 : optimism * evaluator_.slower(candidates_[c].family);
    options.push_back({candidates_[c].steps, candidates_[c].seconds * trust + gap});
    index.push_back(static_cast<int>(c));
  }
  std::vector<double> singles = step_seconds_;
  for (double& s : singles) s += s > 0 ? gap : 0;
  const kw::Cover found = best_cover(dependencies_, singles, options);
  if (seconds) *seconds = found.seconds;
  Cover out;
  for (int o : found.options) out.push_back(index[o]);
  std::sort(out.begin(), out.end());
  return out;
}

double CoverSearch::expected_seconds() const {
  double seconds = 0;
  best(1, 0, &seconds);
  return seconds;
}

// Time of the best cover made of what was evaluated; shown as progress.
double CoverSearch::best_evaluated_seconds() {
  double seconds = 0;
  best(kNoGuesses, 0, &seconds);
  if (seconds > 0) progress_.best = eager_seconds() / seconds;
  return seconds;
}

// What is yet to be evaluated of the best covers. Were it only the hopeful one, a family whose
// guesses are too kind would hide what others can do: so those that doubt the guesses count too.
CoverSearch::Cover CoverSearch::untried(double optimism) const {
  std::set<int> out;
  for (double trust : {optimism, 1.0, 1 / optimism}) {
    for (int c : best(trust, 0, nullptr)) {
      if (!candidates_[c].evaluated) out.insert(c);
    }
    if (!evaluator_.measures()) break;
  }
  return {out.begin(), out.end()};
}

// Guesses say what to try: the best cover is evaluated where it was not, until it is made of
// evaluated fragments only. False when time ran out before.
bool CoverSearch::settle(double optimism, const SearchLimit& limit) {
  if (!evaluator_.measures()) optimism = 1;
  double shortest = std::numeric_limits<double>::infinity();
  for (int in_vain = 0; in_vain < kPatience;) {
    const Cover next = untried(optimism);
    progress_.total = progress_.done + static_cast<int>(next.size());
    if (next.empty()) return true;
    if (limit.over()) return false;
    evaluate(next, 1, limit);
    const double seconds = best_evaluated_seconds();
    // Without measurements every guess is settled: rejected ones must not end the search.
    if (!evaluator_.measures()) continue;
    in_vain = seconds < shortest ? 0 : in_vain + 1;
    shortest = std::min(shortest, seconds);
  }
  return true;
}

// More schedules for the costliest fragments.
void CoverSearch::deepen(const SearchLimit& limit) {
  double seconds = 0;
  Cover costly = best(kNoGuesses, 0, &seconds);
  std::erase_if(costly, [&](int c) { return candidates_[c].seconds < kDeepenShare * seconds; });
  evaluate(costly, kDeepen, limit);
}

// `deepen` times the schedules of options_.proposals each. A few fragments at a time are built
// together: enough for the workers, and not so many that a budget's end finds much half done.
void CoverSearch::evaluate(const Cover& chosen, int deepen, const SearchLimit& limit) {
  const int proposals = deepen * options_.proposals;
  const size_t together = static_cast<size_t>(std::max(1, kProposalsTogether / proposals));
  for (size_t first = 0; first < chosen.size() && !limit.over(); first += together) {
    const size_t last = std::min(chosen.size(), first + together);
    std::vector<Asked> asked;
    std::string names;
    for (size_t i = first; i < last; ++i) {
      const Candidate& candidate = candidates_[chosen[i]];
      asked.push_back({cut(program(), candidate.steps), candidate.eager_seconds, proposals});
      names += (i == first ? "" : ", ") + operator_names(program().forward, candidate.steps);
    }
    report("searching", names);
    std::vector<Evaluated> found = evaluator_.evaluate(asked, limit);
    for (size_t i = first; i < last; ++i) take(candidates_[chosen[i]], std::move(found[i - first]));
    progress_.done += static_cast<int>(last - first);
  }
}

void CoverSearch::take(Candidate& candidate, Evaluated found) {
  candidate.evaluated = true;
  // A second look that was cut short, or found nothing, takes nothing away.
  if (!found.best && candidate.task) return;
  candidate.attempts = std::move(found.attempts);
  candidate.best_attempt = found.best_attempt;
  candidate.usable = found.best.has_value();
  if (!candidate.usable) return;
  candidate.task = std::move(found.best);
  // PyTorch's time for the group as measured, spread over the steps, keeps covers comparable: what
  // counts is how much the group saves.
  const double saved = evaluator_.measures() ? found.eager_seconds - found.seconds
                                             : candidate.eager_seconds - found.seconds;
  candidate.seconds = candidate.eager_seconds - saved;
}

std::vector<CoverSearch::Cover> CoverSearch::covers() const {
  std::vector<Cover> out;
  for (double gap : kLaunchGaps) {
    if (gap > 0 && !evaluator_.measures()) break;
    Cover cover = best(kNoGuesses, gap, nullptr);
    const bool known = std::find(out.begin(), out.end(), cover) != out.end();
    if (!cover.empty() && !known) out.push_back(std::move(cover));
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

std::vector<Attempt> CoverSearch::attempts() const {
  std::vector<Attempt> out;
  for (const Candidate& candidate : candidates_) {
    out.insert(out.end(), candidate.attempts.begin(), candidate.attempts.end());
  }
  return out;
}

}  // namespace kw
