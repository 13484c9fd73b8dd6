// What `kernelwright eval` says at its end of all models together. Pure functions: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eval/run/metrics.h"
#include "eval/suite/suite.h"

namespace kw {

// `policy`: whose samples are counted, by its place.
MetricsOptions metrics_options(const SuiteOptions& options, size_t policy = 0);

// How a model's samples count, of its line of `eval --json` (docs/formats/eval.md). Valid: loaded
// and recorded. Correct: accepted in full. With side_by_side, what passed a first look alone is not
// judged. `unusable` is the code of the model file's own fault, or "other". InputError where it is
// no such line.
TaskAnswers answers_of(const JsonReader& line);

// The metrics of models evaluated under these options; speedups where they were timed alone.
Metrics measure_suite(const std::vector<TaskAnswers>& tasks, const SuiteOptions& options,
                      size_t policy = 0);

// Some lines for a terminal.
std::string summary_text(const Metrics& metrics);
// Of models that are no tasks: "3 (operator 2, raised 1)"; empty where there are none.
std::string unusable_text(const Metrics& metrics);
// One line, of a suite's level.
std::string level_text(const std::string& level, const Metrics& metrics);

}  // namespace kw
