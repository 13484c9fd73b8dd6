// The page on a run of `kernelwright eval`: self-contained, readable offline and without scripts
// (one of ours filters the table of models).
#pragma once

#include <string>

#include "eval/run/eval_report.h"

namespace kw {

// Returns the page of a run, with all text from the run escaped. It has
//
// - metrics of each policy and level, comparisons and pass@k,
// - what each layer removes, why samples were rejected, and opinions of a reviewer,
// - each model's speedup with its interval,
// - each sample: the reason of its verdict, its source, and the difference that it makes to the
//   model's file, if the run's folder has them.
//
// Without `with_sources` it leaves out what was written, which is most of a page.
std::string eval_page(const EvalReport& report, bool with_sources = true);

}  // namespace kw
