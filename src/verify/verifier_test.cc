// Verdicts by workers and an executor that say what a test wants.
#include "verify/verifier.h"

#include <gtest/gtest.h>

#include "runtime/sanitizer.h"
#include "verify/test_executor.h"
#include "verify/test_workers.h"

namespace kw {
namespace {

constexpr int64_t kElements = 8192;

// relu of one input, by PyTorch or by a kernel.
Task relu_by_pytorch() {
  Task task;
  task.target = "sm_90";
  Program& p = task.forward;
  for (int i = 0; i < 2; ++i) p.values.push_back({DType::kFloat32, {kElements}, {1}, 0, i});
  p.inputs = {0};
  p.steps = {AtenCall{"aten.relu.default", {{"self", {ValueRef{0}}}}, {1}, {}}};
  p.outputs = {1};
  task.inputs.values = {p.values[0]};
  return task;
}

Task relu_by_a_kernel() {
  Task task = relu_by_pytorch();
  Kernel kernel;
  kernel.name = "k";
  kernel.params = {{"x", "*fp32"}, {"out", "*fp32"}};
  kernel.compiled = Compiled{.reads = {0}, .writes = {1}};
  task.kernels = {kernel};
  task.forward.steps = {
      AtenCall{"aten.empty.memory_format", {{"size", {ArgList{{int64_t{kElements}}}}}}, {1}, {}},
      Launch{0, {1, 1, 1}, {{ValueRef{0}}, {ValueRef{1}}}}};
  return task;
}

class Verifying : public testing::Test {
 protected:
  Verdict judged(const VerifyOptions& options) {
    Verifier verifier(workers_, executor_, profile_);
    Verdict verdict;
    verifier.judge(verifier.prepare(relu_by_pytorch()), relu_by_a_kernel(), options, verdict);
    return verdict;
  }
  Verdict verified(const std::string& text) {
    Verifier verifier(workers_, executor_, profile_);
    RecordRequest request;
    request.text = text;
    request.file = "candidate.py";
    request.cls = "ModelNew";
    request.profile = profile_;
    return verifier.verify(verifier.prepare(relu_by_pytorch()), request, plain_);
  }

  const DeviceProfile profile_ = device_profile("h200");
  const VerifyOptions plain_{.trials = 2, .variations = false, .noop_checks = false};
  FakeExecutor executor_;
  FakeWorkers workers_{[this](const Json& request) { return answer_(request); }};
  FakeWorkers::Answer answer_ = [](const Json&) {
    return failed_result(JobResult::Status::kFailed, "out of memory");
  };
};

TEST_F(Verifying, WhatIsRightIsAcceptedAndUnloaded) {
  const Verdict verdict = judged(plain_);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kAccepted) << verdict.reason;
  EXPECT_EQ(executor_.tried.size(), 2u);
  EXPECT_EQ(executor_.loaded.size(), 1u);  // the reference
}

// Reports what a test wants.
class FakeSanitizer : public Sanitizer {
 public:
  FakeSanitizer() : Sanitizer({}, "none") {}
  SanitizerReport inspect(const Task&, const Task&, uint64_t, std::chrono::milliseconds) override {
    ++runs;
    return report;
  }
  SanitizerReport report;
  int runs = 0;
};

TEST_F(Verifying, WhatTheSanitizerFindsOutOfBoundsRejects) {
  FakeSanitizer sanitizer;
  VerifyOptions options = plain_;
  options.sanitizer = &sanitizer;
  EXPECT_EQ(judged(options).outcome, Verdict::Outcome::kAccepted);
  EXPECT_EQ(sanitizer.runs, 1);
  sanitizer.report.fault = "memcheck: did not answer in time";
  EXPECT_EQ(judged(options).outcome, Verdict::Outcome::kAccepted);
  sanitizer.report.noted = {{"initcheck", "Uninitialized __global__ memory read", "k"}};
  const Verdict noted = judged(options);
  EXPECT_EQ(noted.outcome, Verdict::Outcome::kAccepted);
  EXPECT_EQ(sanitizer_evidence(noted)->at("noted").size(), 1u);
  sanitizer.report.findings = {{"memcheck", "Invalid __global__ read of size 4 bytes", "k"}};
  const Verdict found = judged(options);
  EXPECT_EQ(found.outcome, Verdict::Outcome::kRejected);
  EXPECT_EQ(found.rejected_at, Stage::kCorrect);
  EXPECT_EQ(found.reason, "memcheck: Invalid __global__ read of size 4 bytes in k [sanitizer]");
  options.without = {"sanitizer"};
  const Verdict unchecked = judged(options);
  EXPECT_EQ(unchecked.outcome, Verdict::Outcome::kAccepted);
  EXPECT_EQ(sanitizer_evidence(unchecked)->at("findings").size(), 1u);
}

TEST_F(Verifying, TheSanitizerRunsOnlyWhatIsRightAndInTheSample) {
  FakeSanitizer sanitizer;
  VerifyOptions options = plain_;
  options.sanitizer = &sanitizer;
  options.sanitized_share = 0;
  EXPECT_EQ(sanitizer_evidence(judged(options)), nullptr);
  options.sanitized_share = 1;
  executor_.trial_report.outputs[0].candidate_rms = 1;
  EXPECT_EQ(judged(options).outcome, Verdict::Outcome::kRejected);
  EXPECT_EQ(sanitizer.runs, 0);
}

TEST(Samples, AreTheShareThatIsAskedFor) {
  int in = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string program = std::to_string(i);
    in += is_in_sample("some", program, 0.25);
    EXPECT_TRUE(is_in_sample("some", program, 1));
    EXPECT_FALSE(is_in_sample("some", program, 0));
    EXPECT_LE(is_in_sample("some", program, 0.1), is_in_sample("some", program, 0.2));
  }
  EXPECT_NEAR(in, 1000, 5 * 27.4);  // five standard deviations
}

TEST_F(Verifying, WhatCannotBeTriedIsUnloadedToo) {
  executor_.restarts = false;
  EXPECT_THROW(judged(plain_), EnvironmentError);
  EXPECT_EQ(executor_.loaded.size(), 1u);  // the reference
  Verifier verifier(workers_, executor_, profile_);
  const Reference reference = verifier.prepare(relu_by_pytorch());
  EXPECT_THROW(verifier.is_correct(reference, relu_by_a_kernel(), plain_), EnvironmentError);
  EXPECT_EQ(executor_.loaded.size(), 2u);  // two references
}

TEST_F(Verifying, AWrongTrialRejectsAndEndsTheTrials) {
  executor_.trial_report.outputs[0].candidate_rms = 1e-2;
  const Verdict verdict = judged(plain_);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kRejected);
  EXPECT_EQ(verdict.rejected_at, Stage::kCorrect);
  EXPECT_EQ(executor_.tried.size(), 1u);
}

// On the CPU the executor runs no code of the candidate, so its death says nothing of it.
TEST_F(Verifying, ADeadExecutorIsTheCandidatesOnAGpuAlone) {
  executor_.trial_report = {};
  executor_.trial_report.status = ReplyStatus::kDied;
  executor_.trial_report.message = "was killed";
  EXPECT_EQ(judged(plain_).outcome, Verdict::Outcome::kNotJudged);
  executor_.backend = "cuda";
  const Verdict verdict = judged(plain_);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kRejected);
  EXPECT_EQ(verdict.reason, "was killed");
}

TEST_F(Verifying, ATrialThatIsNotJudgedLeavesTheCandidateSo) {
  executor_.backend = "cuda";
  executor_.trial_report = {};
  executor_.trial_report.status = ReplyStatus::kNotJudged;
  executor_.trial_report.message = "candidate: an answer could not be overwritten: why";
  const Verdict verdict = judged(plain_);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kNotJudged);
  EXPECT_EQ(verdict.reason, executor_.trial_report.message);
}

TEST_F(Verifying, TimesThatWereNotTakenAreAReason) {
  VerifyOptions options = plain_;
  options.time = true;
  executor_.time_report.message = "an illegal address";
  executor_.time_report.status = ReplyStatus::kDied;
  EXPECT_EQ(judged(options).rejected_at, Stage::kTime);
  executor_.time_report.status = ReplyStatus::kNotJudged;
  const Verdict verdict = judged(options);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kNotJudged);
  EXPECT_EQ(verdict.reason, "an illegal address");
}

std::vector<Stage> stages_of(const Verdict& verdict) {
  std::vector<Stage> out;
  for (const StageResult& stage : verdict.stages) out.push_back(stage.stage);
  return out;
}

TEST_F(Verifying, AFileWithoutTritonAndWithoutKernelsIsNotLoaded) {
  answer_ = [](const Json&) { return recorded_result({}); };
  const Verdict verdict = verified("import torch\n");
  EXPECT_EQ(verdict.rejected_at, Stage::kLoad);
  EXPECT_NE(verdict.reason.find("no Triton kernel in candidate.py"), std::string::npos)
      << verdict.reason;
  EXPECT_EQ(workers_.kinds, std::vector<std::string>{"record"});
}

TEST_F(Verifying, ARefusalRejectsAtTheStageOfItsCode) {
  const auto refuses = [this](const std::string& code) {
    answer_ = [code](const Json&) {
      return failed_result(JobResult::Status::kRefused, "no", code);
    };
    return verified("import triton\n");
  };
  EXPECT_EQ(stages_of(refuses("syntax")), (std::vector<Stage>{Stage::kLoad}));
  const Verdict verdict = refuses("raised");
  EXPECT_EQ(stages_of(verdict), (std::vector<Stage>{Stage::kLoad, Stage::kRecord}));
  EXPECT_EQ(verdict.rejected_at, Stage::kRecord);
  EXPECT_EQ(verdict.reason, "candidate.py: no [raised]");
}

TEST_F(Verifying, AKernelThatDoesNotCompileRejects) {
  answer_ = [](const Json& request) {
    if (request.at("kind") == "record") return recorded_result({fake_kernel(64)});
    if (request.at("kind") == "slice") return sliced_result(1);
    return failed_result(JobResult::Status::kRefused, "no such name", "compile");
  };
  const Verdict verdict = verified("import triton\n");
  EXPECT_EQ(verdict.rejected_at, Stage::kCompile);
  EXPECT_EQ(stages_of(verdict),
            (std::vector<Stage>{Stage::kLoad, Stage::kRecord, Stage::kCompile}));
  EXPECT_EQ(workers_.kinds, (std::vector<std::string>{"record", "slice", "compile"}));
}

TEST_F(Verifying, AWorkerThatFailsOnEverythingIsNobodysFault) {
  const Verdict verdict = verified("import triton\n");
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kNotJudged);
  EXPECT_EQ(stages_of(verdict), (std::vector<Stage>{Stage::kRecord}));
}

}  // namespace
}  // namespace kw
