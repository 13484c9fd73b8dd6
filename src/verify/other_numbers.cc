// Plain numbers among the arguments of forward. A Program holds them as they were recorded, so that
// only a second record shows whether a candidate reads them.
#include <algorithm>

#include "program/rewrite/transform.h"
#include "runtime/held_task.h"
#include "verify/blame.h"
#include "verify/trials.h"
#include "verify/verifier.h"

namespace kw {
namespace {

using OtherNumbers = RecordRequest::OtherNumbers;

// Returns whether an argument's tree (docs/formats/task.md) has a number or a flag in it.
bool has_numbers(const Json& tree) {
  if (tree.is_number() || tree.is_boolean()) return true;
  if (tree.is_object() && (tree.contains("in") || tree.contains("out"))) return false;
  return tree.is_structured() && std::any_of(tree.begin(), tree.end(), has_numbers);
}

// Returns the request for the reference that a candidate's request names.
RecordRequest of_reference(const Reference& reference, const RecordRequest& candidate) {
  RecordRequest out = candidate;
  out.text = candidate.harness_text;
  out.file = candidate.harness_file;
  out.cls = reference.task.source.cls;
  out.harness_text = out.harness_file = "";
  out.without.clear();
  out.configurations.clear();
  return out;
}

}  // namespace

void Verifier::check_other_numbers(const Reference& reference, const RecordRequest& request,
                                   const VerifyOptions& options, Verdict& verdict) {
  const bool asked = varies(options) && !request.fragment && !request.harness_text.empty() &&
                     has_numbers(reference.task.arguments);
  if (verdict.outcome != Verdict::Outcome::kAccepted || !asked) return;
  BuildPlan plan = build_plan(options);
  plan.cache = &cache_;
  for (const OtherNumbers numbers : {OtherNumbers::kAll, OtherNumbers::kFloats}) {
    RecordRequest theirs = of_reference(reference, request), own = request;
    theirs.numbers = own.numbers = numbers;
    const JobOutcome<BuiltTask> other = build_and_blame(workers_, theirs, plan);
    if (other.fault) continue;  // it takes no such numbers
    Reference changed;
    changed.task = canonical(other.value->task);
    if (changed.task.arguments.dump() == reference.task.arguments.dump()) return;
    const JobOutcome<BuiltTask> built = build_and_blame(workers_, own, plan);
    if (built.fault) return;
    const JobOutcome<Task> candidate = adopted(changed, canonical(built.value->task), own);
    if (candidate.fault) return;
    const HeldTask held_reference(executor_, changed.task), held(executor_, *candidate.value);
    changed.id = held_reference.id();
    VerifyOptions plain = options;
    plain.variations = plain.noop_checks = false;
    Verdict found;
    std::vector<int> idle;
    if (check_correct(changed, held.id(), plain, found, idle)) return;
    if (found.outcome != Verdict::Outcome::kRejected) return;
    std::erase_if(verdict.stages,
                  [](const StageResult& stage) { return stage.stage >= Stage::kCorrect; });
    StageResult stage = std::move(found.stages.back());
    stage.reason = "with other numbers among the arguments (" + changed.task.arguments.dump() +
                   " for " + reference.task.arguments.dump() + "): " + stage.reason;
    verdict.outcome = found.outcome;
    verdict.rejected_at = Stage::kCorrect;
    verdict.reason = stage.reason;
    verdict.stages.push_back(std::move(stage));
    return;
  }
}

}  // namespace kw
