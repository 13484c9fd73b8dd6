// Two runs of `kernelwright eval` on the same models, or two policies of one run, by paired
// intervals. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "eval/run/eval_run.h"

namespace kw {

// Two policies on the models that both have judged and that are the same program for both.
struct RunComparison {
  std::string ours, theirs;                   // names of policies
  size_t our_samples = 0, their_samples = 0;  // most samples of a task: more samples solve more
  size_t tasks = 0, left_out = 0;
  PolicyComparison comparison;
};
// Two policies by their names (policy_name()): ours, theirs.
using PolicyPair = std::pair<std::string, std::string>;
// Compares the given pairs; without pairs, policies of equal names, or the only ones of both runs.
// Throws InputError if there is no such policy, or no pair with a common model.
std::vector<RunComparison> compare_runs(const EvalRun& ours, const EvalRun& theirs,
                                        const std::vector<PolicyPair>& pairs = {});
// Returns a text such as "RUN has local, teacher".
std::string policies_text(const EvalRun& run);
// Compares each further policy of a run with the first, except those that share no model with it.
std::vector<RunComparison> compare_policies(const EvalRun& run);

std::string comparison_text(const std::vector<RunComparison>& comparisons);  // for a terminal
Json to_json(const RunComparison& comparison);
// Returns "TASKS of OURS against THEIRS"; rows_of() returns what is compared, with its text, such
// as
// "+3.4 points [0.2, 6.8]".
std::string title_of(const RunComparison& comparison);
std::vector<std::pair<std::string, std::string>> rows_of(const PolicyComparison& comparison);

}  // namespace kw
