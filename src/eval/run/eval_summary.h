// The summary of all models at the end of `kernelwright eval`. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/run/metrics.h"
#include "eval/suite/suite.h"

namespace kw {

// Returns the options of metrics for a policy, given by its index.
MetricsOptions metrics_options(const SuiteOptions& options, size_t policy = 0);

// Returns how a model's samples count, from its line of `eval --json` (docs/formats/eval.md). Valid
// means loaded and recorded; correct means accepted in full. With side_by_side, a sample that only
// passed a first look is not judged. `unusable` is the code of the model file's fault, or "other".
// Throws InputError for another kind of line.
TaskAnswers answers_of(const JsonReader& line);

// Returns the metrics of models under these options, with speedups only if they were timed.
Metrics measure_suite(const std::vector<TaskAnswers>& tasks, const SuiteOptions& options,
                      size_t policy = 0);

// Returns some lines for a terminal.
std::string summary_text(const Metrics& metrics);
// Returns the counts of unusable models, such as "3 (operator 2, raised 1)", or an empty string.
std::string unusable_text(const Metrics& metrics);
// Returns one line on a suite's level.
std::string level_text(const std::string& level, const Metrics& metrics);

}  // namespace kw
