// Two runs of `kernelwright eval` on the same models, by paired intervals. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "report/eval_run.h"
#include "report/markup.h"

namespace kw {

// Policies of one name, or the only ones of both runs; models that both have judged, and that are
// one program in both.
struct RunComparison {
  std::string ours, theirs;  // labels
  size_t tasks = 0, left_out = 0;
  PolicyComparison comparison;
};
// InputError where no policy or no model is in both.
std::vector<RunComparison> compare_runs(const EvalRun& ours, const EvalRun& theirs);

std::string comparison_text(const std::vector<RunComparison>& comparisons);  // for a terminal
void write_comparison(Markup& out, const std::string& theirs,
                      const std::vector<RunComparison>& comparisons);

}  // namespace kw
