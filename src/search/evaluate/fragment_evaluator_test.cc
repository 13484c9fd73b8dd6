#include "search/evaluate/fragment_evaluator.h"

#include <filesystem>
#include <thread>

#include "search/cover/fragments.h"
#include "search/form/test_form.h"

namespace kw {
namespace {

// Says what it is told to, and counts how often it is asked.
class Scripted : public Policy {
 public:
  std::vector<std::string> sources;
  int asked = 0;
  // It draws: one answer after another, and what is missing of them in the end never comes.
  bool waits = false;

  std::string name() const override { return "scripted"; }
  int at_once() const override { return waits ? 8 : 1; }
  void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                    std::chrono::steady_clock::time_point deadline,
                    const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override {
    for (Proposal& one : propose(task, profile, count, seed, deadline)) take(std::move(one));
    while (count > static_cast<int>(sources.size()) && wanted() &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  std::vector<Proposal> propose(const Task&, const DeviceProfile&, int count, uint64_t,
                                std::chrono::steady_clock::time_point) override {
    ++asked;
    std::vector<Proposal> out;
    for (int i = 0; i < count && i < static_cast<int>(sources.size()); ++i) {
      Proposal one;
      one.family = name();
      one.plan = "plan " + std::to_string(i);
      one.source = sources[i];
      one.drawn = waits;
      out.push_back(std::move(one));
    }
    return out;
  }
};

// A forward of one kernel, of an expression of x.
std::string module_of(const std::string& expression) {
  return "import torch\nimport triton\nimport triton.language as tl\n\n\n"
         "@triton.jit\ndef k0(x_ptr, y_ptr, n: tl.constexpr, BLOCK: tl.constexpr):\n"
         "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
         "    x = tl.load(x_ptr + i, mask=i < n)\n"
         "    tl.store(y_ptr + i, " +
         expression +
         ", mask=i < n)\n\n\n"
         "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
         "        y = torch.empty_like(x)\n"
         "        k0[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), 64)\n        return y\n";
}

class EvaluatingOnProcesses : public FormTest {
 protected:
  void SetUp() override {
    prepare(model("", "        return torch.relu(x)\n", "8, 16"));
    folder_ = std::filesystem::temp_directory_path() /
              ("kw-evaluate-" + std::to_string(getpid()) + ".sqlite");
  }
  void TearDown() override {
    FormTest::TearDown();
    std::filesystem::remove(folder_);
  }
  EvaluationResult evaluated(const Effort& effort, std::optional<Attempt> known = {}) {
    return evaluated(effort, std::move(known), no_limit_);
  }
  EvaluationResult evaluated(const Effort& effort, std::optional<Attempt> known,
                             const SearchLimit& limit) {
    Store store(folder_);
    FragmentEvaluator evaluator(machine_->pool, machine_->executor, policy_, store,
                                machine_->profile, options_, clock_);
    std::vector<EvaluationRequest> requests;
    requests.push_back({cut(reference_.task, {0}), 1e-6, effort, std::move(known)});
    return std::move(evaluator.evaluate(requests, limit).front());
  }

  const std::string right_ = module_of("tl.maximum(x, 0.0)"), wrong_ = module_of("x * 2.0");
  std::filesystem::path folder_;
  Scripted policy_;
  OptimizeOptions options_;
  PhaseClock clock_;
  const std::atomic<bool> never_ = false;
  const SearchLimit no_limit_ = {std::chrono::steady_clock::time_point::max(), never_};
};

TEST_F(EvaluatingOnProcesses, WhereAnyRightOneWillDoTheFirstIsTaken) {
  // Two that are wrong, and more that are right than the pool builds at once.
  policy_.sources = {wrong_, "this is no module", right_};
  for (int i = 0; i < 8; ++i) policy_.sources.push_back(right_ + "# " + std::to_string(i) + "\n");
  const EvaluationResult found = evaluated({.proposals = 11, .any_right = true});
  ASSERT_TRUE(found.best);
  EXPECT_EQ(found.best_attempt, 2u);
  ASSERT_EQ(found.attempts.size(), 11u);
  EXPECT_NE(found.attempts[0].reason, "");
  EXPECT_NE(found.attempts[1].reason, "");
  EXPECT_TRUE(found.attempts[2].accepted());
  EXPECT_EQ(found.attempts[0].status, AttemptStatus::kRejected);
  EXPECT_EQ(found.attempts[1].status, AttemptStatus::kRejected);
  EXPECT_FALSE(found.attempts[2].measured);
  for (size_t i = 3; i < 11; ++i)
    EXPECT_EQ(found.attempts[i].status, AttemptStatus::kNotJudged) << i;
  EXPECT_FALSE(found.cut_short);

  // It is known from then on, to who asks the same way.
  EXPECT_EQ(policy_.asked, 1);
  const EvaluationResult again = evaluated({.proposals = 11, .any_right = true});
  EXPECT_EQ(policy_.asked, 1);
  ASSERT_TRUE(again.best);
  EXPECT_TRUE(again.attempts[again.best_attempt].from_store);
  EXPECT_EQ(evaluated({.proposals = 11, .any_right = true, .seed = 1}).best_attempt, 2u);
  EXPECT_EQ(policy_.asked, 2);
}

TEST_F(EvaluatingOnProcesses, WhatIsDrawnIsJudgedAsItComes) {
  policy_.waits = true;
  policy_.sources = {wrong_, right_};
  // With six others, that would be waited for: not half of them have come.
  const SearchLimit minutes = {std::chrono::steady_clock::now() + std::chrono::minutes(5), never_};
  const EvaluationResult found = evaluated({.proposals = 8, .any_right = true}, {}, minutes);
  EXPECT_FALSE(minutes.over());
  ASSERT_TRUE(found.best);
  EXPECT_EQ(found.attempts[found.best_attempt].source, right_);
  EXPECT_FALSE(found.cut_short);
  EXPECT_TRUE(evaluated({.proposals = 8, .any_right = true}).attempts[1].from_store);
}

TEST_F(EvaluatingOnProcesses, OfSeveralThatAreDrawnEachIsAskedToItsEnd) {
  prepare(model("", "        return torch.relu(x), torch.relu(-x), torch.relu(x + 1)\n", "8, 16"));
  policy_.waits = true;
  for (int i = 0; i < 5; ++i) policy_.sources.push_back(wrong_ + "# " + std::to_string(i) + "\n");
  policy_.sources.push_back(right_);
  Store store(folder_);
  FragmentEvaluator evaluator(machine_->pool, machine_->executor, policy_, store, machine_->profile,
                              options_, clock_);
  std::vector<EvaluationRequest> requests;
  for (const auto& steps : enumerate_fragments(reference_.task, {.max_steps = 1})) {
    const auto& call = std::get<AtenCall>(reference_.task.forward.steps[steps[0]]);
    if (call.op != "aten.relu.default") continue;
    requests.push_back(
        {cut(reference_.task, steps), 1e-6, {.proposals = 6, .any_right = true}, {}});
  }
  ASSERT_EQ(requests.size(), 3u);
  for (const EvaluationResult& found : evaluator.evaluate(requests, no_limit_)) {
    ASSERT_TRUE(found.best);
    EXPECT_EQ(found.attempts[found.best_attempt].source, right_);
  }
  EXPECT_EQ(machine_->pool.pending(), 0u);
}

TEST_F(EvaluatingOnProcesses, WhatIsNotWaitedForSaysSoAndIsNotKept) {
  policy_.waits = true;
  policy_.sources = {wrong_, wrong_ + "# again\n"};
  const EvaluationResult found = evaluated({.proposals = 3, .any_right = true});
  EXPECT_FALSE(found.best);
  EXPECT_FALSE(found.cut_short);
  ASSERT_EQ(found.attempts.size(), 3u);
  EXPECT_EQ(found.attempts[2].status, AttemptStatus::kNotJudged);
  EXPECT_EQ(found.attempts[2].reason, "not judged: 1 answers were not waited for");
  policy_.sources.push_back(right_);
  EXPECT_TRUE(evaluated({.proposals = 3, .any_right = true}).best);
}

TEST_F(EvaluatingOnProcesses, DrawingEndsWithTheLimit) {
  policy_.waits = true;
  // One that takes longer to load than there is time.
  policy_.sources = {"import time\ntime.sleep(60)\n" + right_};
  const SearchLimit soon = {std::chrono::steady_clock::now() + std::chrono::milliseconds(300),
                            never_};
  const EvaluationResult found = evaluated({.proposals = 3, .any_right = true}, {}, soon);
  EXPECT_FALSE(found.best);
  EXPECT_TRUE(found.cut_short);
}

TEST_F(EvaluatingOnProcesses, AllAreBuiltWhereNoneIsRight) {
  for (int i = 0; i < 7; ++i) policy_.sources.push_back(wrong_ + "# " + std::to_string(i) + "\n");
  const EvaluationResult found = evaluated({.proposals = 7, .any_right = true});
  EXPECT_FALSE(found.best);
  EXPECT_FALSE(found.cut_short);
  ASSERT_EQ(found.attempts.size(), 7u);
  for (const Attempt& attempt : found.attempts) {
    EXPECT_NE(attempt.reason, "");
    EXPECT_EQ(attempt.reason, found.attempts[0].reason);
  }
}

TEST_F(EvaluatingOnProcesses, EqualAnswersAreOne) {
  policy_.sources = {wrong_, right_, wrong_, right_, right_};
  const EvaluationResult found = evaluated({.proposals = 5, .any_right = true});
  ASSERT_TRUE(found.best);
  ASSERT_EQ(found.attempts.size(), 2u);
  EXPECT_EQ(found.best_attempt, 1u);
}

// What was found before is timed beside what the policy says now.
TEST_F(EvaluatingOnProcesses, WhatIsKnownToBeRightIsJudgedToo) {
  policy_.sources = {wrong_};
  Attempt known;
  known.source = right_;
  known.status = AttemptStatus::kAccepted;
  const EvaluationResult found = evaluated({}, known);
  ASSERT_TRUE(found.best);
  EXPECT_EQ(found.attempts[found.best_attempt].source, right_);
  EXPECT_FALSE(evaluated({}).best);  // others' results are not those
}

TEST_F(EvaluatingOnProcesses, WhatTheLimitCutSaysSo) {
  policy_.sources = {right_};
  const SearchLimit over = {std::chrono::steady_clock::now() - std::chrono::seconds(1), never_};
  const EvaluationResult found = evaluated({.any_right = true}, {}, over);
  EXPECT_FALSE(found.best);
  EXPECT_TRUE(found.cut_short);
  EXPECT_TRUE(evaluated({.any_right = true}).best);  // nothing of it was kept
}

}  // namespace
}  // namespace kw
