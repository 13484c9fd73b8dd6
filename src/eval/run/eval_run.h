// A run of `kernelwright eval` on disk (docs/formats/eval.md): what was asked, a line for each
// model and policy, and, in the folder of --out, the texts that were written. Any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "eval/run/metrics.h"
#include "formats/json.h"
#include "formats/output.h"
#include "verify/verdict/verdict.h"

namespace kw {

// The file of lines in a folder of --out, unless --lines names another.
inline constexpr const char* kEvalLinesFile = "lines.jsonl";

// A file of lines: what the run was asked (null for an empty file), and the models' lines in the
// file's order. A later line of a model and policy replaces an earlier one. Reading one throws
// InputError if the text is no such file; `what` names it in messages.
struct EvalLinesText {
  Json asked;
  std::vector<Json> lines;
};
EvalLinesText parse_eval_lines(const std::string& text, const std::string& what);

// Returns the differences between what two runs were asked, such as "--samples (4 there, 2 here),
// device (...)", or an empty string. `there` and `here` are EvalLinesText::asked.
std::string asked_difference(const Json& there, const Json& here);

struct EvalRun {
  std::string name;              // for people
  std::filesystem::path folder;  // the folder of written texts; empty: not known
  Json asked;
  std::vector<Json> lines;          // the last of each model and policy, by the models' names
  std::vector<std::string> labels;  // of its policies; a single policy's is ""
};

// Reads a run. `path` is a folder of --out or a file of --lines. Throws InputError if it is
// neither.
EvalRun read_eval_run(const std::filesystem::path& path);

// Returns the text of a file that was kept for a model, or nothing if there is none below the run's
// folder. `end` is ".reference.py" (the model's file), ".0.fragment.py" or ".0.py".
std::optional<std::string> kept_file(const EvalRun& run, const Json& line, const std::string& end);

// Returns the name of the policy with this label for people. For a run's only policy it is the
// label that the policy would have together with others.
std::string policy_name(const EvalRun& run, const std::string& label);

Verdict::Outcome outcome_of(const Json& sample);  // InputError

// Returns whether a sample was judged right in full. Returns nothing if it was not judged, or only
// had a first look.
std::optional<bool> verdict_of(const Json& sample);

// The results of a run: for each policy over all models, then by level if there are several.
struct RunMetrics {
  std::string label;
  std::optional<std::string> level;  // none: all
  Metrics metrics;                   // pass@k by all k that some task has answers for
};
std::vector<RunMetrics> measure_run(const EvalRun& run);
bool is_timed(const EvalRun& run);
// Throws InputError for a run of --search, which keeps no answers to whole tasks.
void refuse_search(const EvalRun& run);
// Returns how the run's samples were judged.
MetricsOptions metrics_options(const EvalRun& run);
std::vector<TaskAnswers> answers_of(const EvalRun& run, const std::string& label);

// Returns a table (RFC 4180, with a header): a row for each sample, and one for a model without
// any.
std::string eval_csv(const EvalRun& run);
inline constexpr FileKind kSampleTable = {"table of samples", "model,level,policy,model_outcome,"};

}  // namespace kw
