#include "verify/own_file/own_file.h"

#include "formats/base/error.h"
#include "program/python/export.h"
#include "program/rewrite/state_match.h"

namespace kw {
namespace {

constexpr uint64_t kSeed = 1;  // both runs have the same data, and nobody is graded by it
constexpr std::chrono::milliseconds kCompareDeadline{60000};

FileReport not_tried(const std::string& why) { return {FileDoes::kNotTried, why}; }

// The export of a fragment, which no file defines, in a file that does.
std::string file_of_fragment(const Task& program) {
  return "import torch\n\n\nclass " + program.source.cls + "(torch.nn.Module):\n    pass\n";
}

RecordRequest request_of_export(const RecordRequest& request, const Task& program) {
  RecordRequest out = request;
  out.file = "optimized.py";
  out.cls = "ModelNew";
  out.text =
      export_python(program, request.fragment ? file_of_fragment(program) : request.harness_text);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> weight_names(const Task& reference,
                                                              const Task& candidate) {
  StateMatch match(reference, candidate);
  if (!match.find()) return {};
  std::vector<std::pair<std::string, std::string>> out;
  for (size_t e = 0; e < candidate.state.size(); ++e) {
    if (!match.is_used(e) || match.entry(e) < 0) continue;
    const std::vector<std::string>& own = candidate.state[e].names;
    const std::vector<std::string>& theirs = reference.state[match.entry(e)].names;
    if (!own.empty() && !theirs.empty()) out.emplace_back(own.front(), theirs.front());
  }
  return out;
}

FileReport try_file(Workers& workers, const RecordRequest& request,
                    const std::vector<std::pair<std::string, std::string>>& weights,
                    const Task& program, std::chrono::milliseconds deadline) {
  const auto run = [&](const RecordRequest& what,
                       const std::vector<std::pair<std::string, std::string>>& names) {
    const RunPlan plan{program.source.cls, names, kSeed};
    return run_result(workers.run(run_job(what, plan, deadline)), what);
  };
  const JobOutcome<PlainRun> file = run(request, weights);
  if (file.fault) return not_tried(file.fault->text());
  if (file.value->calls.empty()) return not_tried(file.value->raised);
  std::vector<std::pair<std::string, std::string>> own;
  for (const StateEntry& entry : program.state) {
    if (!entry.names.empty()) own.emplace_back(entry.names.front(), entry.names.front());
  }
  JobOutcome<PlainRun> ours;
  try {
    ours = run(request_of_export(request, program), own);
  } catch (const InputError& error) {
    return not_tried(std::string("the program cannot be exported: ") + error.what());
  }
  const std::string fault = ours.fault ? ours.fault->text() : ours.value->raised;
  if (!fault.empty()) return not_tried("the exported program does not run on a CPU: " + fault);
  const JobOutcome<std::string> difference =
      compare_result(workers.run(compare_job(*ours.value, *file.value, kCompareDeadline)), request);
  if (difference.fault) return not_tried(difference.fault->text());
  if (!difference.value->empty()) return {FileDoes::kOther, *difference.value};
  if (file.value->raised.empty()) return {FileDoes::kSame, ""};
  return {FileDoes::kOther,
          "call " + std::to_string(file.value->calls.size() + 1) + " raises " + file.value->raised};
}

}  // namespace kw
