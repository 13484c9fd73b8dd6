#include "eval/run/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>

#include "formats/base/error.h"
#include "runtime/median.h"

namespace kw {
namespace {

using Known = std::optional<double>;  // of a task; none: not known
using Ruler = std::optional<Interval> AnswerOutcome::*;

enum class Kind { kShare, kMean, kGeometricMean, kMedian };

double median_of(const std::vector<double>& values) { return median(values); }

Interval interval_of(const std::vector<double>& values, Kind kind, const MetricsOptions& options) {
  // This interval is for resampling that shows no spread.
  const bool flat =
      std::all_of(values.begin(), values.end(), [&](double x) { return x == values[0]; });
  if (kind == Kind::kShare || (kind == Kind::kMean && flat)) {
    const auto count = static_cast<double>(values.size());
    return wilson(mean(values) * count, count, options.bootstrap.confidence);
  }
  return bootstrap(values,
                   kind == Kind::kMean            ? mean
                   : kind == Kind::kGeometricMean ? geometric_mean
                                                  : median_of,
                   options.bootstrap);
}

// Returns nothing if the value is unknown for every task.
std::optional<Estimate> estimate(const std::vector<Known>& by_task, Kind kind,
                                 const MetricsOptions& options) {
  std::vector<double> values;
  for (const Known& value : by_task) {
    if (value) values.push_back(*value);
  }
  if (values.empty()) return {};
  Estimate out;
  out.tasks = values.size();
  out.left_out = by_task.size() - values.size();
  const Interval interval = interval_of(values, kind, options);
  out.value = interval.estimate;
  const bool of_speedups = kind == Kind::kGeometricMean || kind == Kind::kMedian;
  if (!of_speedups || values.size() > 1) out.interval = interval;
  return out;
}

void check(const std::vector<TaskAnswers>& tasks, const MetricsOptions& options) {
  for (const int k : options.pass_at) {
    if (k < 1) throw InputError("pass@" + std::to_string(k) + ": k is at least 1");
  }
  for (const TaskAnswers& task : tasks) {
    for (const AnswerOutcome& answer : task.answers) {
      for (const Ruler ruler : {&AnswerOutcome::over_eager, &AnswerOutcome::over_compile}) {
        if (!answer.judged || !answer.correct || !(answer.*ruler)) continue;
        const auto& [value, lower, upper] = *(answer.*ruler);
        if (std::isfinite(value) && std::isfinite(lower) && std::isfinite(upper) && value > 0 &&
            lower >= 0 && upper >= 0) {
          continue;
        }
        throw InputError(task.task + ": a speedup of " + std::to_string(value) + " [" +
                         std::to_string(lower) + ", " + std::to_string(upper) +
                         "]: expected finite numbers above 0");
      }
    }
  }
}

Known solved_by(const TaskAnswers& task, bool AnswerOutcome::*rule) {
  bool all_judged = true;
  for (const AnswerOutcome& answer : task.answers) {
    if (answer.judged && answer.*rule) return 1;
    all_judged = all_judged && answer.judged;
  }
  return all_judged ? Known(0) : Known();
}

Known solved(const TaskAnswers& task) { return solved_by(task, &AnswerOutcome::correct); }

bool is_degenerate(const TaskAnswers& task) {
  return std::any_of(task.answers.begin(), task.answers.end(), [](const AnswerOutcome& answer) {
    return answer.judged && answer.degenerate;
  });
}

// Returns the mean share of the correct answers.
Known share(const TaskAnswers& task) {
  std::vector<double> shares;
  for (const AnswerOutcome& answer : task.answers) {
    if (answer.judged && answer.correct && answer.share) shares.push_back(*answer.share);
  }
  return shares.empty() ? Known() : Known(mean(shares));
}

Known pass_at(const TaskAnswers& task, int k) {
  if (task.answers.empty()) return 0;
  int judged = 0, correct = 0;
  for (const AnswerOutcome& answer : task.answers) {
    judged += answer.judged;
    correct += answer.judged && answer.correct;
  }
  return judged >= k ? Known(pass_at_k(judged, correct, k)) : Known();
}

// Returns the correct answer that its user would take, or null if there is none.
const AnswerOutcome* best(const TaskAnswers& task) {
  const auto speed = [](const AnswerOutcome& answer, Ruler ruler) {
    return answer.*ruler ? (answer.*ruler)->estimate : 0;
  };
  const AnswerOutcome* out = nullptr;
  for (const AnswerOutcome& answer : task.answers) {
    if (!answer.judged || !answer.correct) continue;
    const auto rank = [&](const AnswerOutcome& each) {
      return std::pair(speed(each, &AnswerOutcome::over_eager),
                       speed(each, &AnswerOutcome::over_compile));
    };
    if (!out || rank(answer) > rank(*out)) out = &answer;
  }
  return out;
}

// Returns 1 if this answer is more than p times as fast, else 0.
Known faster(const AnswerOutcome& answer, Ruler ruler, double p, const MetricsOptions& options) {
  if (!(answer.*ruler)) return {};
  const Interval& speedup = *(answer.*ruler);
  const bool by_estimate = options.count == MetricsOptions::Count::kEstimate;
  return (by_estimate ? speedup.estimate : speedup.lower) > p ? 1 : 0;
}

Known best_is_faster(const TaskAnswers& task, Ruler ruler, double p,
                     const MetricsOptions& options) {
  const AnswerOutcome* answer = best(task);
  return answer ? faster(*answer, ruler, p, options) : solved(task);
}

Known first_is_faster(const TaskAnswers& task, Ruler ruler, double p,
                      const MetricsOptions& options) {
  if (task.answers.empty()) return 0;
  const AnswerOutcome& first = task.answers.front();
  if (!first.judged) return {};
  return first.correct ? faster(first, ruler, p, options) : Known(0);
}

// Returns the best answer's speedup, or `otherwise` for a task that is known to have none.
Known speedup(const TaskAnswers& task, Ruler ruler, double otherwise) {
  const AnswerOutcome* answer = best(task);
  if (!answer) return solved(task) ? Known(otherwise) : Known();
  return answer->*ruler ? Known((answer->*ruler)->estimate) : Known();
}

template <class Value>
std::vector<Known> each(const std::vector<TaskAnswers>& tasks, Value value) {
  std::vector<Known> out;
  for (const TaskAnswers& task : tasks) out.push_back(value(task));
  return out;
}

std::optional<SpeedMetrics> speeds(const std::vector<TaskAnswers>& tasks, Ruler ruler,
                                   const MetricsOptions& options) {
  std::vector<Known> right;  // of tasks with a correct answer
  for (const TaskAnswers& task : tasks) {
    if (best(task)) right.push_back(speedup(task, ruler, 1));
  }
  const auto is_known = [](const Known& value) { return value.has_value(); };
  if (tasks.empty() || (!right.empty() && std::none_of(right.begin(), right.end(), is_known))) {
    return {};
  }
  SpeedMetrics out;
  for (const double p : kFastThresholds) {
    const auto put = [&](std::map<double, Estimate>& where, auto value) {
      const auto of_task = [&](const TaskAnswers& task) { return value(task, ruler, p, options); };
      const auto found = estimate(each(tasks, of_task), Kind::kMean, options);
      if (found) where.emplace(p, *found);
    };
    put(out.fast_best, best_is_faster);
    if (options.judged != MetricsOptions::Judged::kFastest) put(out.fast_first, first_is_faster);
  }
  out.geometric_mean_right = estimate(right, Kind::kGeometricMean, options);
  out.geometric_mean_all =
      estimate(each(tasks, [&](const TaskAnswers& task) { return speedup(task, ruler, 1); }),
               Kind::kGeometricMean, options);
  out.median_right = estimate(right, Kind::kMedian, options);
  return out;
}

std::optional<Estimate> pass_at(const std::vector<TaskAnswers>& tasks, int k,
                                const MetricsOptions& options) {
  if (options.judged != MetricsOptions::Judged::kAll) return {};
  const auto of_task = [k](const TaskAnswers& task) { return pass_at(task, k); };
  const std::vector<Known> by_task = each(tasks, of_task);
  // If only refused tasks were known, a policy with few answers would seem to have no good one.
  bool some_answered = false, some_known = false;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].answers.empty()) continue;
    some_answered = true;
    some_known = some_known || by_task[i];
  }
  if (some_answered && !some_known) return {};
  return estimate(by_task, Kind::kMean, options);
}

void count_answers(const TaskAnswers& task, Metrics& out) {
  for (const AnswerOutcome& answer : task.answers) {
    if (!answer.judged) continue;
    ++out.answers;
    out.valid += answer.valid;
    out.compiled += answer.compiled;
    out.correct += answer.correct;
    out.allclose += answer.allclose;
    out.allclose_not_correct += answer.allclose && !answer.correct;
    if (!answer.correct) ++out.reasons[answer.reason];
  }
}

}  // namespace

double pass_at_k(int n, int c, int k) {
  assert(0 <= c && c <= n && 1 <= k && k <= n);
  if (n - c < k) return 1;  // fewer are wrong than are drawn
  double none = 1;
  for (int i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / i;
  return 1 - none;
}

Metrics measure(const std::vector<TaskAnswers>& given, const MetricsOptions& options) {
  check(given, options);
  Metrics out;
  std::vector<TaskAnswers> tasks;
  for (const TaskAnswers& task : given) {
    if (task.unusable.empty()) {
      tasks.push_back(task);
    } else {
      ++out.unusable[task.unusable];
    }
  }
  // Sorts the tasks, as intervals of the bootstrap depend on their order.
  std::ranges::stable_sort(tasks, {}, &TaskAnswers::task);
  out.tasks = tasks.size();
  out.judged = options.judged;
  for (const TaskAnswers& task : tasks) {
    out.refused += task.answers.empty();
    out.not_judged += !solved(task);
    count_answers(task, out);
  }
  out.solved = estimate(each(tasks, solved), Kind::kShare, options);
  std::vector<TaskAnswers> others, right;
  for (const TaskAnswers& task : tasks) {
    if (!is_degenerate(task)) others.push_back(task);
    if (best(task)) right.push_back(task);
  }
  out.degenerate = tasks.size() - others.size();
  out.solved_others = estimate(each(others, solved), Kind::kShare, options);
  out.share = estimate(each(right, share), Kind::kMean, options);
  const auto allclose = [](const TaskAnswers& t) { return solved_by(t, &AnswerOutcome::allclose); };
  out.solved_allclose = estimate(each(tasks, allclose), Kind::kShare, options);
  for (const int k : options.pass_at) out.pass_at[k] = pass_at(tasks, k, options);
  out.eager = speeds(tasks, &AnswerOutcome::over_eager, options);
  out.compile = speeds(tasks, &AnswerOutcome::over_compile, options);
  return out;
}

namespace {

// Returns the tasks of both in one order.
std::vector<std::pair<const TaskAnswers*, const TaskAnswers*>> pairs_of(
    const std::vector<TaskAnswers>& ours, const std::vector<TaskAnswers>& theirs) {
  const auto by_name = [](const std::vector<TaskAnswers>& tasks) {
    std::map<std::string, const TaskAnswers*> out;
    for (const TaskAnswers& task : tasks) {
      if (!out.emplace(task.task, &task).second) throw InputError(task.task + ": stands twice");
    }
    return out;
  };
  const auto left = by_name(ours), right = by_name(theirs);
  std::vector<std::pair<const TaskAnswers*, const TaskAnswers*>> out;
  for (const auto& [name, task] : left) {
    const auto found = right.find(name);
    if (found == right.end()) throw InputError(name + ": the other policy has no such task");
    out.emplace_back(task, found->second);
  }
  for (const auto& [name, task] : right) {
    if (!left.contains(name)) throw InputError(name + ": the first policy has no such task");
  }
  return out;
}

}  // namespace

PolicyComparison compare(const std::vector<TaskAnswers>& ours,
                         const std::vector<TaskAnswers>& theirs, const MetricsOptions& options) {
  check(ours, options);
  check(theirs, options);
  const auto pairs = pairs_of(ours, theirs);
  // Compares `value` of both sides, as a difference or as a ratio.
  const auto paired = [&](auto value, bool ratio) -> std::optional<Estimate> {
    std::vector<double> left, right;
    for (const auto& [a, b] : pairs) {
      const Known mine = value(*a), other = value(*b);
      if (!mine || !other) continue;
      left.push_back(*mine);
      right.push_back(*other);
    }
    if (left.empty()) return {};
    const Interval interval = ratio ? paired_ratio(left, right, options.bootstrap)
                                    : paired_difference(left, right, options.bootstrap.confidence);
    Estimate out{interval.estimate, {}, left.size(), pairs.size() - left.size()};
    if (!ratio || left.size() > 1) out.interval = interval;
    return out;
  };
  PolicyComparison out;
  for (const int k : options.pass_at) {
    if (options.judged != MetricsOptions::Judged::kAll)
      out.pass_at[k] = std::nullopt;
    else
      out.pass_at[k] = paired([k](const TaskAnswers& t) { return pass_at(t, k); }, false);
  }
  out.solved = paired(solved, false);
  const Ruler eager = &AnswerOutcome::over_eager;
  if (!speeds(ours, eager, options) || !speeds(theirs, eager, options)) return out;
  for (const double p : kFastThresholds) {
    const auto fast = [&](const TaskAnswers& t) { return best_is_faster(t, eager, p, options); };
    if (const auto found = paired(fast, false)) out.fast_best.emplace(p, *found);
  }
  out.speedup = paired([&](const TaskAnswers& t) { return speedup(t, eager, 1); }, true);
  return out;
}

namespace {

Json json_of(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  const auto& interval = estimate->interval;
  return {{"value", estimate->value},
          {"lower", interval ? Json(interval->lower) : Json()},
          {"upper", interval ? Json(interval->upper) : Json()},
          {"tasks", estimate->tasks},
          {"left_out", estimate->left_out}};
}

template <class Key, class Value>
Json json_of(const std::map<Key, Value>& estimates) {
  Json out = Json::object();
  for (const auto& [key, estimate] : estimates) {
    char name[32];
    std::snprintf(name, sizeof(name), "%g", static_cast<double>(key));
    out[name] = json_of(std::optional<Estimate>(estimate));
  }
  return out;
}

Json json_of(const std::optional<SpeedMetrics>& speed) {
  if (!speed) return nullptr;
  return {{"fast_p_best", json_of(speed->fast_best)},
          {"fast_p_first", json_of(speed->fast_first)},
          {"geometric_mean_right", json_of(speed->geometric_mean_right)},
          {"geometric_mean_all", json_of(speed->geometric_mean_all)},
          {"median_right", json_of(speed->median_right)}};
}

const char* name_of(MetricsOptions::Judged judged) {
  switch (judged) {
    case MetricsOptions::Judged::kAll:
      return "all";
    case MetricsOptions::Judged::kUntilCorrect:
      return "until accepted";
    case MetricsOptions::Judged::kFastest:
      return "the fastest";
  }
  return "";
}

}  // namespace

Json to_json(const Metrics& metrics) {
  const bool all = metrics.judged == MetricsOptions::Judged::kAll;
  return {{"tasks", metrics.tasks},
          {"unusable", metrics.unusable},
          {"refused", metrics.refused},
          {"not_judged", metrics.not_judged},
          {"answers", metrics.answers},
          {"valid", metrics.valid},
          {"compiled", metrics.compiled},
          {"correct", metrics.correct},
          {"reasons", metrics.reasons},
          {"judged", name_of(metrics.judged)},
          {"solved", json_of(metrics.solved)},
          {"degenerate", metrics.degenerate},
          {"solved_others", json_of(metrics.solved_others)},
          {"triton_share", json_of(metrics.share)},
          {"allclose", metrics.allclose},
          {"allclose_not_correct", metrics.allclose_not_correct},
          {"solved_allclose", json_of(metrics.solved_allclose)},
          {"pass_at", all ? json_of(metrics.pass_at) : Json()},
          {"eager", json_of(metrics.eager)},
          {"compile", json_of(metrics.compile)}};
}

Json to_json(const PolicyComparison& comparison) {
  return {{"solved", json_of(comparison.solved)},
          {"pass_at", json_of(comparison.pass_at)},
          {"fast_p_best", json_of(comparison.fast_best)},
          {"speedup", json_of(comparison.speedup)}};
}

}  // namespace kw
