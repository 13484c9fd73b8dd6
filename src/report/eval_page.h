// The page on a run of `kernelwright eval`: self-contained, readable offline and without scripts
// (one of ours filters the table of models).
#pragma once

#include <string>

#include "eval/run/eval_report.h"

namespace kw {

// Metrics of each policy and level, comparisons, pass@k, what each layer removes, opinions of a
// reviewer, what samples were rejected for, each model's speedup with its interval, and
// each sample: its verdict's reason, its source, and how the model's file with it in place differs
// from the model's file (where the run's folder has them). `with_sources`: false leaves out what
// was written, which is most of a page. All text from the run is escaped.
std::string eval_page(const EvalReport& report, bool with_sources = true);

}  // namespace kw
