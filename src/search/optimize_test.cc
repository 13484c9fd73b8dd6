#include "search/optimize.h"

#include <regex>
#include <set>
#include <thread>

#include "search/form/test_form.h"
#include "teacher/teacher.h"
#include "verify/coverage/coverage.h"

namespace kw {
namespace {

// The search as it goes on a device, with the host's clock in place of the device's: what is found
// means nothing, that it is found and confirmed does.
class MeasuredOnProcesses : public FormTest {
 protected:
  void SetUp() override {
    ExecutorConfig config = default_executor_config("cpu");
    config.wall_clock = true;
    executor_ = std::make_unique<ExecutorClient>(config);
  }
  OptimizeResult optimize(const std::string& text, OptimizeOptions options = {}) {
    const std::unique_ptr<Policy> teacher = make_teacher();
    return optimize(text, options, *teacher);
  }
  OptimizeResult optimize(const std::string& text, OptimizeOptions options, Policy& policy,
                          bool measured = true) {
    text_ = text;
    options.measure = measured;
    options.verify.seed = 7;
    Optimizer optimizer(
        machine_->pool, *executor_, policy, store_, machine_->profile,
        [&](const Progress& p) { planned_.insert(p.phase == "planning" ? p.detail : ""); });
    return optimizer.optimize(request(text), options, never_);
  }

  std::unique_ptr<ExecutorClient> executor_;
  Store store_{":memory:"};
  std::set<std::string> planned_;  // "channels last: fragments"
  const std::atomic<bool> never_ = false;
};

TEST_F(MeasuredOnProcesses, EveryStepHasATimeOfItsOwn) {
  OptimizeOptions options;
  options.budget_seconds = 120;  // ends by itself long before, also where the machine is busy
  const OptimizeResult result =
      optimize(model("", "        return torch.softmax(F.gelu(x * 1.5) + x[:, :1], -1).cumsum(0)\n",
                     "256, 512"),
               options);
  ASSERT_FALSE(result.step_seconds.empty());
  double total = 0;
  for (size_t i = 0; i < result.step_seconds.size(); ++i) {
    const auto& call = std::get<AtenCall>(result.base.forward.steps[i]);
    EXPECT_TRUE(result.step_measured[i] || result.step_seconds[i] == 0) << call.op;
    total += result.step_seconds[i];
  }
  EXPECT_DOUBLE_EQ(result.reference_seconds, total);
  ASSERT_FALSE(result.attempts.empty());
  for (const Attempt& attempt : result.attempts) {
    EXPECT_TRUE(attempt.measured || !attempt.accepted()) << attempt.reason;
    EXPECT_TRUE(attempt.status != AttemptStatus::kRejected) << attempt.reason;
  }
  for (const char* phase : {"record", "forms", "steps", "plan", "build", "judge", "time"}) {
    EXPECT_GT(result.phase_seconds.count(phase), 0u) << phase;
  }
}

TEST_F(MeasuredOnProcesses, FormsWithOtherLayoutsAndBiasesAreSearched) {
  OptimizeOptions options;
  options.budget_seconds = 10;
  const OptimizeResult result =
      optimize(model("        self.c = nn.Conv2d(4, 6, 3)\n        self.n = nn.BatchNorm2d(6)\n",
                     "        return F.relu(self.n(self.c(x)))\n", "2, 4, 16, 16"),
               options);
  EXPECT_GT(result.reference_seconds, 0);
  for (const char* form : {"fragments", "biases apart: fragments",
                           "simplified, biases apart, channels last: fragments"}) {
    EXPECT_EQ(planned_.count(form), 1u) << form;
  }
}

// The teacher, but for fragments with an operator.
class Without : public Policy {
 public:
  explicit Without(std::string op) : op_(std::move(op)) {}
  std::string name() const override { return "without " + op_; }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point deadline) override {
    for (const Step& step : task.forward.steps) {
      if (std::get<AtenCall>(step).op == op_) return {};
    }
    return teacher_->propose(task, profile, count, seed, deadline);
  }

 private:
  const std::string op_;
  const std::unique_ptr<Policy> teacher_ = make_teacher();
};

// By the host's clock Triton's interpreter is slower than PyTorch everywhere.
TEST_F(MeasuredOnProcesses, APureCoverIsTakenThoughItBeSlower) {
  OptimizeOptions options;
  options.budget_seconds = 120;  // ends by itself long before, also where the machine is busy
  const std::string text = model("", "        return torch.softmax(F.gelu(x), -1)\n", "16, 32");
  EXPECT_EQ(optimize(text, options).outcome, OptimizeResult::Outcome::kNothingGained);
  options.verify.pure = true;
  const OptimizeResult result = optimize(text, options);
  ASSERT_EQ(result.outcome, OptimizeResult::Outcome::kImproved) << result.message;
  EXPECT_TRUE(coverage(result.reference, result.optimized).aten_left.empty());
}

TEST_F(MeasuredOnProcesses, WhatHasNoKernelsIsNamedWhereNoPyTorchMayBeLeft) {
  OptimizeOptions options;
  options.budget_seconds = 120;
  options.verify.pure = true;
  Without policy("aten.cumsum.default");
  const OptimizeResult result =
      optimize(model("", "        return F.gelu(x * 1.5).cumsum(0)\n", "16, 32"), options, policy);
  EXPECT_EQ(result.outcome, OptimizeResult::Outcome::kNothingGained);
  EXPECT_EQ(result.message, "no right kernels were found for cumsum");
  EXPECT_TRUE(result.finalists.empty());
}

TEST_F(MeasuredOnProcesses, WhatDoesTooLittleOfTheWorkIsNoFinalist) {
  OptimizeOptions options;
  Without policy("aten.matmul.default");
  const std::string text =
      model("        self.w = nn.Parameter(torch.randn(512, 512))\n",
            "        return x @ self.w, torch.relu(x[:2] * 1.5) + 1\n", "512, 512");
  const bool measured = false;  // by the model of time, fused steps are faster
  const OptimizeResult result = optimize(text, options, policy, measured);
  EXPECT_EQ(result.outcome, OptimizeResult::Outcome::kNothingGained);
  EXPECT_EQ(result.message, "nothing can be gained: PyTorch's own kernels are kept");
  EXPECT_TRUE(result.finalists.empty());
  EXPECT_FALSE(result.attempts.empty());
}

// The teacher, once for each fragment of one step alone: its kernels are always k0, k1, ...
class SameNames : public Policy {
 public:
  std::string name() const override { return "same names"; }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int, uint64_t seed,
                                std::chrono::steady_clock::time_point deadline) override {
    if (task.forward.steps.size() > 1) return {};
    std::vector<Proposal> out = teacher_->propose(task, profile, 1, seed, deadline);
    for (Proposal& proposal : out) {
      static const std::regex kernel("@triton.jit\ndef (\\w+)");
      std::vector<std::string> names;
      for (std::sregex_iterator it(proposal.source.begin(), proposal.source.end(), kernel), end;
           it != end; ++it) {
        names.push_back((*it)[1]);
      }
      for (size_t k = 0; k < names.size(); ++k) {
        proposal.source = std::regex_replace(proposal.source, std::regex("\\b" + names[k] + "\\b"),
                                             "k" + std::to_string(k));
      }
    }
    return out;
  }

 private:
  const std::unique_ptr<Policy> teacher_ = make_teacher();
};

// Models number their kernels from the start in each answer.
TEST_F(MeasuredOnProcesses, FragmentsMayUseTheSameNames) {
  OptimizeOptions options;
  options.budget_seconds = 120;
  options.verify.pure = true;
  SameNames policy;
  const OptimizeResult result =
      optimize(model("", "        return F.gelu(x).amax(1)\n", "16, 32"), options, policy);
  ASSERT_EQ(result.outcome, OptimizeResult::Outcome::kImproved) << result.message;
  EXPECT_NE(result.python.find("_kw_slice_1()"), std::string::npos) << result.python;
}

// The teacher's guesses, and no answer before the time is over.
class Silent : public Policy {
 public:
  std::string name() const override { return "silent"; }
  int at_once() const override { return 8; }
  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    return teacher_->guess(task, profile);
  }
  std::vector<Proposal> propose(const Task&, const DeviceProfile&, int count, uint64_t,
                                std::chrono::steady_clock::time_point deadline) override {
    std::this_thread::sleep_until(deadline + std::chrono::milliseconds(1));
    Proposal none;
    none.fault = "no answer in time";
    none.unanswered = true;
    return {static_cast<size_t>(count), none};
  }

 private:
  const std::unique_ptr<Policy> teacher_ = make_teacher();
};

TEST_F(MeasuredOnProcesses, WhatWasNotAnsweredInTimeIsNoFinding) {
  OptimizeOptions options;
  options.budget_seconds = 4;
  options.verify.pure = true;
  Silent policy;
  const OptimizeResult result =
      optimize(model("", "        return F.gelu(x * 1.5).cumsum(0)\n", "16, 32"), options, policy);
  EXPECT_TRUE(result.stopped_early);
  EXPECT_EQ(result.message, "the budget ended before a faster program was found");
}

TEST_F(MeasuredOnProcesses, ABudgetIsKept) {
  OptimizeOptions options;
  options.budget_seconds = 1;
  std::string forward = "        y = x\n";
  for (int i = 0; i < 12; ++i) forward += "        y = torch.sin(y * 1.5) + torch.cos(y)\n";
  const auto begin = std::chrono::steady_clock::now();
  const OptimizeResult result =
      optimize(model("", forward + "        return y\n", "64, 64"), options);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_TRUE(result.stopped_early || result.search_seconds < 1) << result.message;
  EXPECT_LT(result.search_seconds, 6);
  EXPECT_LT(seconds, 60);
}

}  // namespace
}  // namespace kw
