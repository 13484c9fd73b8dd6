// A run of `kernelwright eval` as it lies on disk (docs/formats/eval.md): what was asked, a line
// for each model and policy, and, in the folder of --out, what was written. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/run/metrics.h"
#include "formats/json.h"

namespace kw {

// In a folder of --out, where no --lines says otherwise.
inline constexpr const char* kEvalLinesFile = "lines.jsonl";

// A file of lines: what the run was asked (null: the file is empty) and the models' lines, in the
// file's order; later ones of one model and policy stand for earlier ones. `what` is for messages.
// InputError where the text is none such.
struct EvalLinesText {
  Json asked;
  std::vector<Json> lines;
};
EvalLinesText parse_eval_lines(const std::string& text, const std::string& what);

// What runs were asked, where it is not the same: "--samples (4 there, 2 here), device (...)";
// empty where it is. `there`, `here`: EvalLinesText::asked.
std::string asked_difference(const Json& there, const Json& here);

struct EvalRun {
  std::string name;              // for people
  std::filesystem::path folder;  // of what was written; empty: not known
  Json asked;
  std::vector<Json> lines;          // the last of each model and policy, by the models' names
  std::vector<std::string> labels;  // of its policies; "" where there is one alone
};

// `path`: a folder of --out, or a file of --lines. InputError where it is none.
EvalRun read_eval_run(const std::filesystem::path& path);

// The text of a file that was kept for a model; nothing where there is none, or it is not below the
// run's folder. `end`: ".reference.py" (the model's file), ".0.fragment.py", ".0.py".
std::optional<std::string> kept_file(const EvalRun& run, const Json& line, const std::string& end);

// What people call the policy of this label: the label, or, of a run with one policy alone, what it
// would be with others beside it.
std::string policy_name(const EvalRun& run, const std::string& label);

// What trials said of a sample: right, in full, or not. Nothing where they did not: it was not
// judged, or had a first look alone.
std::optional<bool> verdict_of(const Json& sample);

// What it came to: of each policy all models, and then each level where there are several.
struct RunMetrics {
  std::string label;
  std::optional<std::string> level;  // none: all
  Metrics metrics;                   // pass@k by all k that some task has answers for
};
std::vector<RunMetrics> measure_run(const EvalRun& run);
bool is_timed(const EvalRun& run);
// InputError for a run of --search, which keeps no answers to whole tasks.
void refuse_search(const EvalRun& run);
// How its samples were judged.
MetricsOptions metrics_options(const EvalRun& run);
std::vector<TaskAnswers> answers_of(const EvalRun& run, const std::string& label);

// One row for each sample, and one for a model without any; RFC 4180, with a header.
std::string eval_csv(const EvalRun& run);

}  // namespace kw
