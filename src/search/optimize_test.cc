#include "search/optimize.h"

#include <set>

#include "policy/teacher/teacher.h"
#include "search/form_test.h"

namespace kw {
namespace {

// The search as it goes on a device, with the host's clock in place of the device's: what is found
// means nothing, that it is found and confirmed does.
class Measured : public FormTest {
 protected:
  void SetUp() override {
    ExecutorConfig config = default_executor_config("cpu");
    config.wall_clock = true;
    executor_ = std::make_unique<ExecutorClient>(config);
  }
  OptimizeResult optimize(const std::string& text, OptimizeOptions options = {}) {
    text_ = text;
    options.measure = true;
    options.verify.seed = 7;
    const std::unique_ptr<Policy> teacher = make_teacher();
    Optimizer optimizer(
        machine_->pool, *executor_, *teacher, store_, machine_->profile,
        [&](const Progress& p) { planned_.insert(p.phase == "planning" ? p.detail : ""); });
    return optimizer.optimize(request(text), options, never_);
  }

  std::unique_ptr<ExecutorClient> executor_;
  Store store_{":memory:"};
  std::set<std::string> planned_;  // "channels last: fragments"
  const std::atomic<bool> never_ = false;
};

TEST_F(Measured, EveryStepHasATimeOfItsOwn) {
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
    EXPECT_TRUE(attempt.measured || !attempt.accepted) << attempt.reason;
    EXPECT_TRUE(attempt.accepted || attempt.reason.starts_with("not judged")) << attempt.reason;
  }
  for (const char* phase : {"record", "forms", "steps", "plan", "build", "judge", "time"}) {
    EXPECT_GT(result.phase_seconds.count(phase), 0u) << phase;
  }
}

TEST_F(Measured, FormsWithOtherLayoutsAndBiasesAreSearched) {
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

TEST_F(Measured, ABudgetIsKept) {
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
