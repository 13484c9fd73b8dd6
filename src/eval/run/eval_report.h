// The results of a run of `kernelwright eval`, computed once for its page, its JSON and the
// terminal. Reads the run's files. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/run/eval_run.h"
#include "eval/run/layers.h"
#include "eval/run/opinions.h"
#include "eval/run/run_comparison.h"

namespace kw {

struct PolicyLayers {
  std::string label;
  std::vector<Layer> layers;
  std::optional<Agreement> agreement;  // if a reviewer gave opinions on the run
};

struct EvalReport {
  EvalRun run;
  std::vector<RunMetrics> metrics;
  std::vector<PolicyLayers> policies;  // by the run's labels, in order
  std::vector<RunComparison> beside;   // the run's further policies compared with its first
  Opinions opinions;
  // Another run's name, and this run compared with it.
  std::string against;
  std::vector<RunComparison> comparisons;
  std::string asked_otherwise;  // asked_difference() of these runs
};

// Computes the report. Throws InputError as compare_runs() and read_opinions() do.
EvalReport report_on(EvalRun run, const std::optional<EvalRun>& against = {},
                     const std::vector<PolicyPair>& pairs = {});
std::string report_text(const EvalReport& report);  // for a terminal
Json to_json(const EvalReport& report);             // docs/formats/eval.md

}  // namespace kw
