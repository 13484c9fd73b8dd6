#include "verify/blame.h"

namespace kw {
namespace {

using Status = JobResult::Status;

constexpr const char* kPlainProgram = R"(
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y


def get_inputs():
    return [torch.zeros(100)]


def get_init_inputs():
    return []
)";

constexpr std::chrono::milliseconds kPatience{60000};

bool workers_work(Workers& workers, const DeviceProfile& profile) {
  RecordRequest request;
  request.text = kPlainProgram;
  request.file = "plain.py";
  request.cls = "ModelNew";
  request.profile = profile;
  return build_task(workers, request, build_within(kPatience)).value.has_value();
}

}  // namespace

JobFault blamed(Workers& workers, const DeviceProfile& profile, JobFault fault) {
  if (fault.status != Status::kFailed || !workers_work(workers, profile)) return fault;
  fault.status = Status::kRefused;
  fault.code = "failed";
  fault.message =
      "Kernelwright's worker fails on this program, and not on another: " + fault.message;
  return fault;
}

JobOutcome<BuiltTask> build_and_blame(Workers& workers, const RecordRequest& request,
                                      BuildPlan plan) {
  plan.attempts = 2;
  CandidateBuild build(request, plan);
  run_build(workers, build);
  auto outcome = std::move(build).outcome();
  if (outcome.fault) outcome.fault = blamed(workers, request.profile, std::move(*outcome.fault));
  return outcome;
}

}  // namespace kw
