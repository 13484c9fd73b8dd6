// Metrics of a policy's answers to a suite: pass@k, fast_p, geometric means and medians of
// speedups, each with an interval over tasks, and the comparison of two policies. Pure functions of
// judged answers; any thread. A speedup is the baseline's time / the answer's time, without unit.
//
// Unknown values are left out and counted, never taken for 0. These are answers that were not
// judged, tasks without a judged answer, and tasks with fewer answers than pass@k draws. A task
// that the policy refused counts as answered wrong, for every k. But pass@k is unknown if no task
// has k answers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "verify/verdict/intervals.h"

namespace kw {

struct AnswerOutcome {
  bool judged = true;     // false: neither right nor wrong is known
  bool valid = false;     // a program of the kind that was asked for: loaded and recorded
  bool compiled = false;  // its kernels compile too
  bool correct = false;   // passed every stage
  // Zeros, a constant or the answer to other inputs would pass, so a pass means little.
  bool degenerate = false;
  std::optional<double> share;  // of the reference's cost that the answer's kernels do
  bool allclose = false;        // its results pass KernelBench's rule, whether or not it is correct
  // Used for correct answers only.
  std::optional<Interval> over_eager, over_compile;
  std::string reason;  // short, the same for equal causes: answers are counted by it
};

struct TaskAnswers {
  std::string task;
  std::vector<AnswerOutcome> answers;  // in the policy's order; none: it refused
  // Why the model is no task. It was not asked about, and only the count of unusable models has it.
  std::string unusable;
};

struct MetricsOptions {
  // Which answers were judged. Unless all were, pass@k is not defined, as the others are not
  // missing by chance.
  enum class Judged {
    kAll,
    kUntilCorrect,  // in order, up to the first that is correct
    kFastest,       // of those that passed a first look, the fastest
  };
  Judged judged = Judged::kAll;
  std::vector<int> pass_at = {1};  // the k of pass@k
  // Whether fast_p uses the lower end of a speedup's interval, like rewards, or its estimate, like
  // KernelBench, for comparison with published numbers.
  enum class Count { kLowerEnd, kEstimate };
  Count count = Count::kLowerEnd;
  BootstrapOptions bootstrap;
};

// A number over tasks. Intervals are from the bootstrap, except that shares have Wilson's. Means of
// a value that was 0 for all tasks or 1 for all have Wilson's too, as resampling cannot show what
// no task has shown. A single task's speedup has no interval.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
  size_t tasks = 0;     // tasks that it is the mean over
  size_t left_out = 0;  // tasks for which it is unknown
};

inline constexpr double kFastThresholds[] = {1, 1.5, 2};

// Speedups over one baseline. A task's best answer is the correct one with the largest estimate
// over eager, or over torch.compile if that is the only one. Its first answer is the policy's
// first.
struct SpeedMetrics {
  // fast_p of KernelBench (Ouyang et al., arXiv:2502.10517): the share of all tasks whose answer is
  // correct and more than p times as fast, by p. With kFastest there is none for first answers.
  std::map<double, Estimate> fast_best, fast_first;
  std::optional<Estimate> geometric_mean_right;  // best answers, over tasks that have a correct one
  std::optional<Estimate> geometric_mean_all;    // others count 1: their users keep what they have
  std::optional<Estimate> median_right;
};

struct Metrics {
  size_t tasks = 0;                             // all tasks
  std::map<std::string, size_t> unusable;       // models that are no tasks, by reason
  size_t refused = 0;                           // tasks without an answer
  size_t not_judged = 0;                        // tasks in no share: none correct, some not judged
  size_t answers = 0;                           // judged answers
  size_t valid = 0, compiled = 0, correct = 0;  // counts of judged answers
  std::map<std::string, size_t> reasons;        // why answers are not correct
  MetricsOptions::Judged judged = MetricsOptions::Judged::kAll;
  std::optional<Estimate> solved;         // share of tasks with a correct answer; none: no tasks
  size_t degenerate = 0;                  // tasks that some answer's verdict calls degenerate
  std::optional<Estimate> solved_others;  // the share among all other tasks
  // By KernelBench's rule alone: how many answers pass, and how many of these are not correct. Then
  // the share of tasks with an answer that passes.
  size_t allclose = 0, allclose_not_correct = 0;
  std::optional<Estimate> solved_allclose;
  // Triton share of correct answers: mean over tasks that have one of the mean over their answers.
  std::optional<Estimate> share;
  std::map<int, std::optional<Estimate>>
      pass_at;  // none: no task has that many answers, or not kAll
  std::optional<SpeedMetrics> eager,
      compile;  // none: some answers are correct, and none has a time
};

// Returns pass@k of a task with c correct answers of n: the probability that k of them, drawn
// without replacement, hold a correct one. It is the unbiased 1 - C(n-c, k) / C(n, k), computed as
// a product so that nothing overflows (Chen et al., arXiv:2107.03374, section 2.1). Requires 0 <= c
// <= n and 1 <= k <= n.
double pass_at_k(int n, int c, int k);

// Computes the metrics. Throws InputError if k is below 1. Also throws it if a correct answer's
// speedup has a number that is not finite, an estimate not above 0, or an end below 0. A speedup of
// 0 or without bound is a broken clock, not a fast answer.
Metrics measure(const std::vector<TaskAnswers>& tasks, const MetricsOptions& options = {});
Json to_json(const Metrics& metrics);  // docs/formats/eval.md

// Two policies on the same tasks, by paired intervals. A number leaves out tasks for which it is
// not known for both.
struct PolicyComparison {
  std::map<int, std::optional<Estimate>> pass_at;  // differences, ours less theirs
  std::optional<Estimate> solved;
  std::map<double, Estimate> fast_best;  // over eager; empty where not timed
  std::optional<Estimate> speedup;       // over eager, wrong ones 1: ratio of the geometric means
};
// Compares two policies. Tasks may be in any order. Throws InputError as measure() does, and if the
// tasks differ, or a policy has two tasks of one name.
PolicyComparison compare(const std::vector<TaskAnswers>& ours,
                         const std::vector<TaskAnswers>& theirs,
                         const MetricsOptions& options = {});
Json to_json(const PolicyComparison& comparison);

}  // namespace kw
