#include "synth/hygiene.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "formats/base/error.h"
#include "verify/verifier.h"

namespace kw {
namespace {

// What changes a result by less than this, relative to its RMS, is not seen by a tolerance of 1e-2
// either, which published numbers are made with.
constexpr double kLeastShare = 0x1p-6;

constexpr std::chrono::milliseconds kRecordDeadline{60'000}, kExamineDeadline{300'000};

// "0.31 %"
std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g %%", 100 * share);
  return text;
}

// State entries, then inputs.
std::vector<std::string> names_of_leaves(const Task& task) {
  std::vector<std::string> names;
  for (const StateEntry& entry : task.state) {
    names.push_back(entry.names.empty() ? "a constant" : entry.names.front());
  }
  for (size_t i = 0; i < task.inputs.outputs.size(); ++i) {
    names.push_back("input " + std::to_string(i));
  }
  return names;
}

// Half of the digits of the coarsest floating type that the task reads or gives; of fp32 fewer, as
// its convolutions may be done in TF32.
double most_error(const Task& task) {
  double eps = 0;
  for (const auto& [program, ids] : {std::pair{&task.forward, &task.forward.inputs},
                                     std::pair{&task.forward, &task.forward.outputs}}) {
    for (ValueId id : *ids) eps = std::max(eps, dtype_eps(program->values[id].dtype));
  }
  return std::max(std::sqrt(eps), 0x1p-10);
}

}  // namespace

std::string_view flaw_name(Flaw flaw) {
  switch (flaw) {
    case Flaw::kNone:
      return "none";
    case Flaw::kNothing:
      return "nothing";
    case Flaw::kNoTwin:
      return "no twin";
    case Flaw::kDoesNotRun:
      return "does not run";
    case Flaw::kNotFinite:
      return "not finite";
    case Flaw::kConstant:
      return "constant";
    case Flaw::kIgnored:
      return "ignored";
    case Flaw::kUnstable:
      return "unstable";
  }
  return "";
}

Hygiene judge_hygiene(const ExamineReport& report, const Task& task) {
  if (!report.ok()) return {Flaw::kDoesNotRun, report.message};
  const auto output = [](size_t i) { return "result " + std::to_string(i); };
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    const ExaminedOutput& made = report.outputs[i];
    if (made.nonfinite > 0) {
      return {Flaw::kNotFinite, output(i) + ": " + std::to_string(made.nonfinite) + " of " +
                                    std::to_string(made.elements) + " elements are not finite"};
    }
  }
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    const double change = report.outputs[i].redrawn_change;
    if (!(change >= kLeastShare)) {
      return {Flaw::kConstant, output(i) + " changes by " + percent(change) + " on other inputs"};
    }
  }
  const double most = most_error(task);
  for (size_t i = 0; i < report.outputs.size(); ++i) {
    const ExaminedOutput& made = report.outputs[i];
    if (!(made.error <= most)) {
      return {Flaw::kUnstable, output(i) + " is off from fp64 by " + percent(made.error)};
    }
    if (!(made.neighbour <= most)) {
      return {Flaw::kUnstable, output(i) + " changes by " + percent(made.neighbour) +
                                   " where all that is read is off by a unit in the last place"};
    }
  }
  const std::vector<std::string> names = names_of_leaves(task);
  for (size_t i = 0; i < report.changes.size(); ++i) {
    const auto& changes = report.changes[i];
    const double largest = changes.empty() ? 0 : *std::max_element(changes.begin(), changes.end());
    if (!(largest >= kLeastShare)) {
      return {Flaw::kIgnored,
              names.at(i) + " drawn anew changes no result by more than " + percent(largest)};
    }
  }
  return {};
}

std::vector<Examiner::Examined> Examiner::examine(const std::vector<Model>& models) {
  std::vector<RecordRequest> requests;
  for (const Model& model : models) {
    RecordRequest& request = requests.emplace_back();
    request.text = model.text;
    request.file = model.file;
    request.profile = profile_;
  }
  std::vector<JobOutcome<BuiltTask>> recorded =
      build_tasks(pool_, requests, build_within(kRecordDeadline));
  std::vector<Examined> examined(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    if (const auto& fault = recorded[i].fault) {
      if (is_workers_fault(*fault)) throw_fault(*fault);
      examined[i].hygiene = {Flaw::kDoesNotRun, fault->text()};
      continue;
    }
    examined[i].task = std::move(recorded[i].value->task);
    if (models[i].examine) examined[i].hygiene = examine(examined[i].task, models[i].seed);
  }
  return examined;
}

Hygiene Examiner::examine(const Task& task, uint64_t seed) {
  const int id = executor_.load(task);
  const ExamineReport report = executor_.examine({id, seed}, kExamineDeadline);
  executor_.unload(id);
  return judge_hygiene(report, task);
}

}  // namespace kw
