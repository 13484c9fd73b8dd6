#include "cli/eval_output.h"

#include <cstdio>
#include <iostream>

#include "cli/support/common.h"
#include "cli/support/policy_flags.h"
#include "eval/run/eval_summary.h"
#include "formats/base/exit_code.h"
#include "formats/output.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// Returns what executors did: seconds by kind of request, as the mean over processes.
Json executor_counts(const ExecutorClient& executor) {
  return {{"processes", executor.processes()},
          {"restarts", executor.restarts()},
          {"busy_seconds", executor.busy_seconds()}};
}

// Prints a model's outcome in a line for people.
void print_result(const SuiteResult& result, const std::string& label) {
  std::string detail = result.fault.empty() ? result.refusal : result.fault;
  const Verdict* shown = nullptr;
  for (const SuiteSample& sample : result.samples) {
    const bool accepted = sample.verdict.outcome == Verdict::Outcome::kAccepted;
    if (!shown || (accepted && shown->outcome != Verdict::Outcome::kAccepted)) {
      shown = &sample.verdict;
      detail = accepted ? sample.family : sample.verdict.reason;
    }
  }
  if (shown && shown->speedup_eager) detail += ", " + speedup_text(*shown->speedup_eager);
  const std::string whose = label.empty() ? "" : label + "  ";
  std::printf("%s%-10s  %s  %s\n", whose.c_str(),
              std::string(outcome_name(result.outcome())).c_str(), result.model.c_str(),
              detail.c_str());
}

}  // namespace

void EvalOutput::write(const SuiteResult& result, const SuiteModel& model, const fs::path& folder) {
  const std::string stem = model.name + ".";
  make_folder((folder / stem).parent_path());
  write_file(folder / (stem + "reference.py"), model.request.text);
  for (size_t k = 0; k < result.samples.size(); ++k) {
    const SuiteSample& sample = result.samples[k];
    const std::string name = stem + std::to_string(k);
    if (!sample.source.empty()) write_file(folder / (name + ".fragment.py"), sample.source);
    if (!sample.python.empty()) write_file(folder / (name + ".py"), sample.python);
  }
}

void EvalOutput::show(const SuiteResult& result, const Json& line, const std::string& label) {
  if (json_) {
    std::cout << line.dump() << "\n";
  } else {
    print_result(result, label);
  }
  flush_stdout();
}

void print_summary(const JudgedPolicy& judged, const PolicySummary& summary,
                   const ExecutorClient& executor, bool json) {
  if (!json) {
    const std::string text = summary_text(summary.all);
    if (!text.empty() && !judged.label.empty()) std::cout << judged.label << ": ";
    std::cout << text;
    for (const auto& [level, own] : summary.levels) std::cout << level_text(level, own);
    std::cout << std::flush;
    return;
  }
  Json last = {{"summary", to_json(summary.all)}, {"executors", executor_counts(executor)}};
  for (const auto& [level, own] : summary.levels) last["levels"][level] = to_json(own);
  if (!judged.label.empty()) last["label"] = judged.label;
  if (Json costs = judged.policy->costs(); !costs.is_null()) {
    last.update({{"policy", judged.policy->name()}, {"costs", std::move(costs)}});
  }
  std::cout << last.dump() << std::endl;
}

void print_counts(const JudgedPolicy& judged, size_t models) {
  const std::string whose = judged.label.empty() ? "" : judged.label + ": ";
  std::string counts = whose + std::to_string(models) + (models == 1 ? " model" : " models");
  for (const auto& [outcome, count] : judged.outcomes) {
    counts += ", " + std::to_string(count) + " " + outcome;
  }
  std::fprintf(stderr, "%s\n", counts.c_str());
  if (const std::string costs = costs_text(*judged.policy); !costs.empty()) {
    std::fprintf(stderr, "%s%s\n", whose.c_str(), costs.c_str());
  }
}

}  // namespace kw
