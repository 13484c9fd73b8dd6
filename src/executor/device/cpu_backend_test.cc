// The cpu backend with real workers: recorded programs, compiled kernels, interpreted launches.
#include "executor/device/cpu_backend.h"

#include <gtest/gtest.h>

#include "executor/trial/trial.h"
#include "worker/jobs.h"

namespace kw::exec {
namespace {

using std::chrono::milliseconds;

constexpr const char* kReference = R"(
import torch

class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = torch.nn.Linear(width, width)
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return torch.relu(self.fc(x)) * self.scale + 1

def get_inputs():
    return [torch.randn(12, 20)]

def get_init_inputs():
    return [20]
)";

// The same with the pointwise tail in Triton; STORE stands for the store's offsets and mask.
constexpr const char* kCandidate = R"(
import torch, triton
import triton.language as tl

@triton.jit
def tail(h, s, out, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    y = tl.maximum(tl.load(h + i, keep), 0.0) * tl.load(s + i % width, keep) + 1.0
    tl.store(STORE)

class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = torch.nn.Linear(width, width)
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        h = self.fc(x)
        out = torch.empty_like(h)
        tail[(triton.cdiv(h.numel(), 64),)](h, self.scale, out, h.numel(), x.shape[1], BLOCK=64)
        return out

def get_inputs():
    return [torch.randn(12, 20)]

def get_init_inputs():
    return [20]
)";

class CpuBackendOnProcesses : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pool_ = new WorkerPool(default_worker_config());
    backend_ = make_cpu_backend({default_worker_config()}).release();
  }
  static void TearDownTestSuite() {
    delete pool_;
    delete backend_;
  }
  Task build(const std::string& text, const std::string& cls) {
    RecordRequest request;
    request.text = text;
    request.file = "model.py";
    request.cls = cls;
    request.profile = device_profile("h200");
    constexpr milliseconds kWait{60000};
    const auto recorded = record_result(pool_->run(record_job(request, kWait)), request);
    if (recorded.fault) throw std::runtime_error(recorded.fault->text());
    Task task = recorded.value->task;
    if (task.kernels.empty()) return task;
    const auto kernels =
        compiled_kernels(pool_->run(compile_job(*recorded.value, {0}, request, kWait)),
                         *recorded.value, {0}, request);
    if (kernels.fault) throw std::runtime_error(kernels.fault->text());
    task.kernels = *kernels.value;
    return task;
  }
  TrialReport run(const std::string& store, TrialRequest request = {}) {
    std::string text = kCandidate;
    text.replace(text.find("STORE"), 5, store);
    LoadedTask reference(build(kReference, "Model"), *backend_);
    LoadedTask candidate(build(text, "ModelNew"), *backend_);
    request.seed = 3;
    return Trials(*backend_).run(request, reference, candidate);
  }
  static WorkerPool* pool_;
  static Backend* backend_;
};
WorkerPool* CpuBackendOnProcesses::pool_ = nullptr;
Backend* CpuBackendOnProcesses::backend_ = nullptr;

TEST_F(CpuBackendOnProcesses, ARightKernelIsRight) {
  for (Variation variation : {Variation::kPlain, Variation::kAffine}) {
    const TrialReport report =
        run("out + i, y, keep", {.variation = variation, .check_noop = true, .each_launch = true});
    ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_EQ(report.difference, "");
    EXPECT_TRUE(report.no_launch_changes);
    EXPECT_TRUE(report.idle_launches.empty());
    ASSERT_EQ(report.outputs.size(), 1u);
    EXPECT_TRUE(report.outputs[0].same_meta) << report.outputs[0].meta_difference;
    EXPECT_LT(report.outputs[0].candidate_rms, 1e-6);
    EXPECT_GT(report.outputs[0].oracle_rms, 0.5);
  }
}

TEST_F(CpuBackendOnProcesses, AMissingMaskOverrunsItsBuffer) {
  const TrialReport report = run("out + i, y, i < n + 64");
  EXPECT_TRUE(report.status == ReplyStatus::kFailed || !report.guards_intact) << report.message;
}

TEST_F(CpuBackendOnProcesses, AReadOutsideItsBufferIsCaughtThoughNothingComesOfIt) {
  for (const std::string read : {"h + i + n", "h + i - n"}) {
    const TrialReport report = run("out + i, tl.where(keep, y, tl.load(" + read + ")), keep");
    EXPECT_EQ(report.status, ReplyStatus::kFailed);
    EXPECT_NE(report.message.find("outside its arguments"), std::string::npos) << report.message;
  }
}

TEST_F(CpuBackendOnProcesses, WithoutGuardsAnOverrunGoesUnseen) {
  const TrialReport report = run("out + i, y, i < n + 64", {.guards = false});
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_LT(report.outputs[0].candidate_rms, 1e-6);
}

TEST_F(CpuBackendOnProcesses, AShiftedStoreLeavesPoison) {
  const TrialReport report = run("out + i + 1, y, i + 1 < n");
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_GT(report.outputs[0].nonfinite_mismatch, 0);
}

TEST_F(CpuBackendOnProcesses, WildPointersAreTheCandidatesFault) {
  const TrialReport report = run("out + i + 100000000, y, keep");
  EXPECT_EQ(report.status, ReplyStatus::kFailed) << report.message;
  EXPECT_EQ(report.fault, Side::kCandidate);
}

TEST_F(CpuBackendOnProcesses, WritingToAnInputIsSeen) {
  const TrialReport report = run("h + i, y, keep");
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_GT(report.outputs[0].nonfinite_mismatch, 0);
  const TrialReport scale = run("s + i, y, i < width");
  ASSERT_EQ(scale.status, ReplyStatus::kOk) << scale.message;
  EXPECT_FALSE(scale.inputs_unchanged);
  EXPECT_EQ(scale.difference, "scale was overwritten");
}

TEST_F(CpuBackendOnProcesses, DescribesItselfAndItsPeak) {
  const Json about = backend_->describe();
  EXPECT_EQ(about["backend"], "cpu");
  EXPECT_GT(about["total_memory"].get<int64_t>(), int64_t{1} << 28);
  backend_->reset_peak_bytes();
  const int64_t before = backend_->peak_bytes();
  // Much more than what the heap may still hold of earlier tests.
  { const at::Tensor big = at::ones({int64_t{1} << 27}); }
  EXPECT_GE(backend_->peak_bytes(), before + (int64_t{256} << 20));
}

}  // namespace
}  // namespace kw::exec
