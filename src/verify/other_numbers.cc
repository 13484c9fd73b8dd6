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

// Returns how many numbers and flags are in an argument's tree (docs/formats/task.md).
int count_numbers(const Json& tree) {
  if (tree.is_number() || tree.is_boolean()) return 1;
  if (!tree.is_structured()) return 0;
  if (tree.is_object() && (tree.contains("in") || tree.contains("out"))) return 0;
  int count = 0;
  for (const Json& part : tree) count += count_numbers(part);
  return count;
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
  constexpr int kMostAlone = 8;
  const bool asked = varies(options) && !request.fragment && !request.harness_text.empty();
  const int count = asked ? count_numbers(reference.task.arguments) : 0;
  const auto try_with = [&](OtherNumbers numbers, int number) {
    RecordRequest own = request;
    own.numbers = numbers;
    own.number = number;
    return verdict.outcome == Verdict::Outcome::kAccepted &&
           takes_other_numbers(reference, own, options, verdict);
  };
  if (count == 0 || try_with(OtherNumbers::kAll, 0)) return;
  // Some of them may be sizes, dimensions or modes that the reference does not take otherwise.
  try_with(OtherNumbers::kFloats, 0);
  for (int i = 0; count > 1 && i < std::min(count, kMostAlone); ++i) {
    try_with(OtherNumbers::kOne, i);
  }
}

bool Verifier::takes_other_numbers(const Reference& reference, const RecordRequest& request,
                                   const VerifyOptions& options, Verdict& verdict) {
  BuildPlan plan = build_plan(options);
  plan.cache = &cache_;
  RecordRequest theirs = of_reference(reference, request);
  const JobOutcome<BuiltTask> other = build_and_blame(workers_, theirs, plan);
  if (other.fault) return false;
  Reference changed;
  changed.task = canonical(other.value->task);
  if (changed.task.arguments.dump() == reference.task.arguments.dump()) return true;
  const JobOutcome<BuiltTask> built = build_and_blame(workers_, request, plan);
  if (built.fault) return true;
  const JobOutcome<Task> candidate = adopted(changed, canonical(built.value->task), request);
  if (candidate.fault) return true;
  const HeldTask held_reference(executor_, changed.task), held(executor_, *candidate.value);
  changed.id = held_reference.id();
  VerifyOptions plain = options;
  plain.variations = plain.noop_checks = false;
  Verdict found;
  LaunchFindings launches;
  if (check_correct(changed, held.id(), plain, found, launches)) return true;
  if (found.outcome != Verdict::Outcome::kRejected) return true;
  std::erase_if(verdict.stages,
                [](const StageResult& stage) { return stage.stage >= Stage::kCorrect; });
  StageResult stage = std::move(found.stages.back());
  stage.reason = "with other numbers among the arguments (" + changed.task.arguments.dump() +
                 " for " + reference.task.arguments.dump() + "): " + stage.reason;
  verdict.outcome = found.outcome;
  verdict.rejected_at = Stage::kCorrect;
  verdict.reason = stage.reason;
  verdict.stages.push_back(std::move(stage));
  return true;
}

}  // namespace kw
