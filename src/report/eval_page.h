// The page on a run of `kernelwright eval`: self-contained, readable offline and without scripts
// (one of ours filters the table of models).
#pragma once

#include <string>

#include "report/eval_run.h"
#include "report/opinions.h"
#include "report/run_comparison.h"

namespace kw {

// Metrics of each policy and level, pass@k, what samples were rejected for, each model's speedup
// with its interval, and each sample: its verdict's reason, its source, and how the model's file
// with it in place differs from the model's file (where the run's folder has them). `metrics`:
// measure_run() of it; `against`: another run, with compare_runs() of both; `opinions`: those of a
// functional judge on its samples; `with_sources`: false leaves out what was written, which is most
// of a page. All text from the run is escaped.
std::string eval_page(const EvalRun& run, const std::vector<RunMetrics>& metrics,
                      const EvalRun* against = nullptr,
                      const std::vector<RunComparison>& comparisons = {},
                      const Opinions& opinions = {}, bool with_sources = true);

}  // namespace kw
