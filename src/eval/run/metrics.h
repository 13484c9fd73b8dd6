// What a policy's answers to a suite are worth: pass@k, fast_p, geometric means and medians of
// speedups, each with an interval over tasks, and the comparison of two policies. Pure functions of
// what was judged: any thread. Speedups are times slower / time of the answer, without unit.
//
// What is not known is left out and counted, never taken for 0: an answer that was not judged, a
// task all of whose answers were not, a task with fewer answers than pass@k draws. What a policy
// refused to answer is an answer that is wrong, whatever k (but pass@k is not known where no task
// has k answers, whatever was refused).
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
  bool compiled = false;  // its kernels, too
  bool correct = false;   // passed every stage
  // Zeros, a constant or the answer to other inputs would pass: it says little of the answer.
  bool degenerate = false;
  std::optional<double> share;  // of the reference's cost that the answer's kernels do
  bool allclose = false;        // its results pass by KernelBench's rule, whatever else is wrong
  // Of answers that are correct; of others they are not looked at.
  std::optional<Interval> over_eager, over_compile;
  std::string reason;  // short, the same for equal causes: answers are counted by it
};

struct TaskAnswers {
  std::string task;
  std::vector<AnswerOutcome> answers;  // in the policy's order; none: it refused
  // Why the model is no task: nothing was asked, and it is in no number but the count of such.
  std::string unusable;
};

struct MetricsOptions {
  // Which answers were judged. Where not all were, pass@k is not defined: those that are missing
  // are not missing by chance.
  enum class Judged {
    kAll,
    kUntilCorrect,  // in order, up to the first that is correct
    kFastest,       // of those that passed a first look, the fastest
  };
  Judged judged = Judged::kAll;
  std::vector<int> pass_at = {1};  // the k of pass@k
  // Whether a speedup counts, in fast_p, by the lower end of its interval (rewards do, too) or by
  // its estimate (as KernelBench counts, for comparison with published numbers).
  enum class Count { kLowerEnd, kEstimate };
  Count count = Count::kLowerEnd;
  BootstrapOptions bootstrap;
};

// A number over tasks. Intervals are of the bootstrap but for shares, which have Wilson's, and for
// means of what was 0 for all tasks or 1 for all: resampling cannot show what no task has shown, so
// that these have Wilson's as well. Of a single task's speedup there is none.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
  size_t tasks = 0;     // it is the mean over
  size_t left_out = 0;  // of which it is not known
};

inline constexpr double kFastThresholds[] = {1, 1.5, 2};

// Speedups over one way of running the model. Of a task's answers the best is the correct one with
// the largest estimate over eager (over torch.compile, where that is all there is), the first the
// policy's first.
struct SpeedMetrics {
  // fast_p of KernelBench (Ouyang et al., arXiv:2502.10517): the share of all tasks whose answer is
  // correct and more than p times as fast; by p. Of first answers nothing with kFastest.
  std::map<double, Estimate> fast_best, fast_first;
  std::optional<Estimate> geometric_mean_right;  // best answers, over tasks that have a correct one
  std::optional<Estimate> geometric_mean_all;    // others count 1: their users keep what they have
  std::optional<Estimate> median_right;
};

struct Metrics {
  size_t tasks = 0;                             // all
  std::map<std::string, size_t> unusable;       // models that are none, by why
  size_t refused = 0;                           // that have no answer
  size_t not_judged = 0;                        // none correct, some not judged: in no share
  size_t answers = 0;                           // that were judged
  size_t valid = 0, compiled = 0, correct = 0;  // of these
  std::map<std::string, size_t> reasons;        // of those that are not correct
  MetricsOptions::Judged judged = MetricsOptions::Judged::kAll;
  std::optional<Estimate> solved;         // share of tasks with a correct answer; none: no tasks
  size_t degenerate = 0;                  // tasks that some answer's verdict calls so
  std::optional<Estimate> solved_others;  // of tasks that none does
  // By KernelBench's rule alone: answers that pass, of these those that are not correct, and the
  // share of tasks with one that passes.
  size_t allclose = 0, allclose_not_correct = 0;
  std::optional<Estimate> solved_allclose;
  // Triton share of correct answers, of each task's in the mean; over tasks that have one.
  std::optional<Estimate> share;
  std::map<int, std::optional<Estimate>>
      pass_at;  // none: no task has that many answers, or not kAll
  std::optional<SpeedMetrics> eager,
      compile;  // none: some answers are correct, and none has a time
};

// pass@k of a task of whose n answers c are correct: the probability that k of them, drawn without
// return, hold one. 1 - C(n-c, k) / C(n, k), without bias and as a product, so that nothing
// overflows (Chen et al., arXiv:2107.03374, section 2.1). 0 <= c <= n, 1 <= k <= n.
double pass_at_k(int n, int c, int k);

// InputError: of a correct answer's speedup something is not finite, its estimate not above 0 or an
// end below 0; k below 1. A speedup of 0 or without bound is a broken clock, not a fast answer.
Metrics measure(const std::vector<TaskAnswers>& tasks, const MetricsOptions& options = {});
Json to_json(const Metrics& metrics);  // docs/formats/eval.md

// Two policies on the same tasks, by paired intervals. Tasks of which a number is not known for
// both are left out of it.
struct PolicyComparison {
  std::map<int, std::optional<Estimate>> pass_at;  // differences, ours less theirs
  std::optional<Estimate> solved;
  std::map<double, Estimate> fast_best;  // over eager; empty where not timed
  std::optional<Estimate> speedup;       // over eager, wrong ones 1: ratio of the geometric means
};
// Tasks may stand in any order. InputError as measure(), and where they are not the same, or two of
// one policy have one name.
PolicyComparison compare(const std::vector<TaskAnswers>& ours,
                         const std::vector<TaskAnswers>& theirs,
                         const MetricsOptions& options = {});
Json to_json(const PolicyComparison& comparison);

}  // namespace kw
