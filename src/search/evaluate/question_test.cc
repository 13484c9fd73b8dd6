// Questions about real fragments, answered by the teacher: what answers them, behind the adapter,
// is right for the fragment.
#include "search/evaluate/question.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "search/cover/fragments.h"
#include "search/evaluate/fragment_evaluator.h"
#include "search/form/test_form.h"
#include "teacher/teacher.h"

namespace kw {
namespace {

// The teacher as one who draws; keeps what it was asked.
class Drawing : public Policy {
 public:
  std::vector<Task> asked;
  std::string name() const override { return "drawing"; }
  int at_once() const override { return 8; }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point deadline) override {
    const std::lock_guard lock(mutex_);
    asked.push_back(task);
    return teacher_->propose(task, profile, count, seed, deadline);
  }

 private:
  std::mutex mutex_;
  const std::unique_ptr<Policy> teacher_ = make_teacher();
};

class AskingOnProcesses : public FormTest {
 protected:
  void SetUp() override {
    store_ = std::filesystem::temp_directory_path() /
             ("kw-question-" + std::to_string(getpid()) + ".sqlite");
  }
  void TearDown() override {
    FormTest::TearDown();
    std::filesystem::remove(store_);
  }
  // All single operators of a forward of x; what was asked about that named `op`.
  Program ask(const std::string& forward, const std::string& shape, const std::string& op,
              bool as_it_is = false) {
    Drawing policy;
    return ask(forward, shape, op, as_it_is, policy);
  }
  Program ask(const std::string& forward, const std::string& shape, const std::string& op,
              bool as_it_is, Drawing& policy) {
    prepare(model("", forward, shape));
    std::filesystem::remove(store_);
    Store store(store_);
    FragmentEvaluator evaluator(machine_->pool, machine_->executor, policy, store,
                                machine_->profile, options_, clock_);
    std::vector<EvaluationRequest> requests;
    for (const auto& steps : enumerate_fragments(reference_.task, {.max_steps = 1})) {
      const auto& call = std::get<AtenCall>(reference_.task.forward.steps[steps[0]]);
      if (call.op.find(op) == std::string::npos) continue;
      requests.push_back(
          {cut(reference_.task, steps), 1e-6, {.any_right = true, .as_it_is = as_it_is}, {}});
    }
    EXPECT_EQ(requests.size(), 1u) << forward;
    fragment_ = requests.at(0).fragment.task.forward;
    const EvaluationResult found = evaluator.evaluate(requests, no_limit_).front();
    EXPECT_TRUE(found.best) << (found.attempts.empty() ? "nothing" : found.attempts[0].reason);
    source_ = found.attempts.empty() ? "" : found.attempts[0].source;
    return policy.asked.at(0).forward;
  }
  static const Value& input(const Program& program, size_t k) {
    return program.values[program.inputs[k]];
  }

  std::string source_;
  Program fragment_;
  std::filesystem::path store_;
  OptimizeOptions options_;
  PhaseClock clock_;
  const std::atomic<bool> never_ = false;
  const SearchLimit no_limit_ = {std::chrono::steady_clock::time_point::max(), never_};
};

TEST_F(AskingOnProcesses, AnOperandThatIsReadTwiceComesAsTwo) {
  for (const auto& [forward, op] : std::vector<std::pair<std::string, std::string>>{
           {"        return torch.bmm(torch.relu(x), torch.relu(x))\n", "bmm"},
           {"        t = torch.relu(x)\n        return torch.bmm(t, t)\n", "bmm"},
           {"        t = torch.relu(x)\n        return torch.stack([t, t], dim=1)\n", "stack"},
           {"        t = torch.relu(x)\n        return torch.cat([t, t], dim=2)\n", "cat"},
           {"        t = torch.relu(x)\n        return t * t\n", "mul"}}) {
    const Program asked = ask(forward, "3, 5, 5", op);
    ASSERT_EQ(asked.inputs.size(), 2u);
    EXPECT_NE(input(asked, 0).storage, input(asked, 1).storage);
    EXPECT_EQ(input(asked, 0).shape, input(asked, 1).shape);
    const bool is_one = fragment_.inputs.size() == 1;
    EXPECT_EQ(source_.find("_asked(self, a0, a0)") != std::string::npos, is_one) << source_;
    EXPECT_EQ(ask(forward, "3, 5, 5", op, true), fragment_);
  }
}

TEST_F(AskingOnProcesses, AnOperandThatLiesOtherwiseComesAsAView) {
  const struct {
    const char *forward, *op, *shape;
    const char* view;  // of the argument, in the adapter
  } cases[] = {
      {"        t = torch.relu(x.transpose(0, 1))\n        return torch.amax(t, 1)\n", "amax",
       "7, 5", "a0.transpose(0, 1)"},
      {"        t = torch.relu(x.transpose(1, 3))\n        return F.layer_norm(t, (4,))\n",
       "layer_norm", "3, 4, 5, 6", "a0.transpose(1, 3)"},
      {"        t = torch.relu(x.permute(2, 0, 1))\n        return t.sum(1)\n", "sum", "3, 4, 5",
       "a0.permute(1, 2, 0)"},
      {"        t = torch.relu(x.transpose(0, 2))\n        return t.sum(2)\n", "sum", "6, 1, 4",
       "a0.transpose(0, 2)"},
  };
  for (const auto& one : cases) {
    const Program asked = ask(one.forward, one.shape, one.op);
    const Value& given = input(asked, 0);
    EXPECT_EQ(given.strides, contiguous_strides(given.shape)) << one.forward;
    ASSERT_EQ(asked.steps.size(), 2u) << one.forward;
    // The view is what the fragment reads.
    const Value& read = asked.values[std::get<AtenCall>(asked.steps[0]).results[0]];
    EXPECT_EQ(read.shape, input(fragment_, 0).shape) << one.forward;
    EXPECT_EQ(read.strides, input(fragment_, 0).strides) << one.forward;
    EXPECT_NE(source_.find(one.view), std::string::npos) << source_;
  }
}

TEST_F(AskingOnProcesses, WhatIsComputedElementByElementIsAskedAboutInTheResultsOrder) {
  const struct {
    const char *forward, *op, *shape;
    const char *forward_of_answer, *back;  // in the adapter
  } cases[] = {
      {"        t = torch.relu(x.transpose(0, 1))\n"
       "        return t + torch.sigmoid(x.sum(1).view(3, 2, 1, 1))\n",
       "add", "6, 4", "self, a0.transpose(2, 3), a1.unsqueeze(0).unsqueeze(0).transpose(2, 3))",
       "out.transpose(2, 3)"},
      {"        t = torch.relu(x.transpose(0, 1))\n"
       "        return torch.where(t > 0.5, t, torch.tensor(2.0, device=x.device))\n",
       "where", "6, 4", "", "out.transpose(0, 1)"},
      {"        t = torch.relu(x.permute(2, 0, 1))\n        return torch.exp(t), t\n", "exp",
       "3, 4, 5", "a0.permute(1, 2, 0))", "out.permute(2, 0, 1)"},
      // Where dimensions of one element lie the view alone does not say.
      {"        t = torch.relu(x.transpose(0, 1))\n"
       "        return t + torch.sigmoid(x.sum(1).view(3, 2, 1, 1, 1))\n",
       "add", "6, 4", "self, a0.transpose(3, 4), a1.unsqueeze(0)",
       "out.as_strided((3, 2, 1, 4, 6), ("},
      {"        t = torch.relu(x).transpose(2, 3)\n        return torch.exp2(t), torch.sin(t)\n",
       "exp2", "6, 1, 3, 4, 3", "a0.transpose(2, 3))", ""},
      {"        t = torch.relu(x).transpose(0, 1)\n        return torch.exp2(t), torch.sin(t)\n",
       "exp2", "1, 3, 4", "", ""},
  };
  for (const auto& one : cases) {
    const Program asked = ask(one.forward, one.shape, one.op);
    const Value& made = asked.values[asked.outputs[0]];
    EXPECT_EQ(made.strides, contiguous_strides(made.shape)) << one.forward;
    EXPECT_NE(source_.find(one.forward_of_answer), std::string::npos) << source_;
    EXPECT_NE(source_.find(one.back), std::string::npos) << source_;
  }
}

// super(ModelNew, self) means the class that is there when it is called.
TEST_F(AskingOnProcesses, AnswersMayNameTheirOwnClass) {
  class OldFashioned : public Drawing {
    std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                  uint64_t seed,
                                  std::chrono::steady_clock::time_point deadline) override {
      auto out = Drawing::propose(task, profile, count, seed, deadline);
      for (Proposal& one : out) {
        const std::string head = "class ModelNew(torch.nn.Module):\n";
        one.source.insert(one.source.find(head) + head.size(),
                          "    def __init__(self):\n        super(ModelNew, self).__init__()\n\n");
      }
      return out;
    }
  } policy;
  ask("        t = torch.relu(x)\n        return torch.bmm(t, t)\n", "3, 5, 5", "bmm", false,
      policy);
  EXPECT_NE(source_.find("super(ModelNew, self)"), std::string::npos);
  EXPECT_NE(source_.find("_asked(self, a0, a0)"), std::string::npos);
}

TEST_F(AskingOnProcesses, BothAtOnce) {
  const Program asked =
      ask("        t = torch.relu(x.transpose(1, 2))\n        return torch.bmm(t, t)\n", "3, 5, 5",
          "bmm");
  ASSERT_EQ(asked.inputs.size(), 2u);
  EXPECT_EQ(asked.steps.size(), 3u);
  EXPECT_NE(source_.find("(self, a0.transpose(1, 2), a0.transpose(1, 2))"), std::string::npos)
      << source_;
}

TEST_F(AskingOnProcesses, WhatProgramsSayIsLeftAlone) {
  for (const auto& [forward, op] : std::vector<std::pair<std::string, std::string>>{
           {"        return torch.softmax(torch.relu(x), 1)\n", "softmax"},
           {"        t = torch.relu(x)\n        return t.expand(4, 3, 5, 5) + t.exp()\n", "add"},
           {"        t = torch.relu(x)\n        return torch.exp(t[:, 1:4])\n", "exp"}}) {
    const Program asked = ask(forward, "3, 5, 5", op);
    fragment_.values[fragment_.inputs[0]].offset = 0;  // where an argument begins says nothing
    EXPECT_EQ(asked, fragment_);
    EXPECT_EQ(source_.find("_asked"), std::string::npos);
  }
}

// As the graphs that are synthesised are: any program, any fragment.
TEST_F(AskingOnProcesses, KeepsResultsAndTheirLayout) {
  prepare(model("",
                "        t = x.transpose(0, 1)\n        u = torch.relu(t)\n"
                "        v = torch.stack([u, u], dim=2)\n        w = torch.matmul(u, t)\n"
                "        return torch.exp(v), w, torch.sin(u) + u\n",
                "6, 6"));
  for (const auto& steps : enumerate_fragments(reference_.task, {})) {
    const Task fragment = cut(reference_.task, steps).task;
    const Program asked = question_of(fragment).task.forward;
    ASSERT_EQ(asked.outputs.size(), fragment.forward.outputs.size());
    std::set<ValueId> defined(asked.inputs.begin(), asked.inputs.end());
    for (Step step : asked.steps) {
      for_each_value(step, [&](ValueId& id) { EXPECT_TRUE(defined.contains(id)); });
      for (ValueId id : step_defines(step)) defined.insert(id);
    }
    for (size_t k = 0; k < asked.outputs.size(); ++k) {
      EXPECT_TRUE(defined.contains(asked.outputs[k]));
      const Value &a = asked.values[asked.outputs[k]],
                  &b = fragment.forward.values[fragment.forward.outputs[k]];
      EXPECT_EQ(a.numel(), b.numel());
      if (steps.size() == 1 && a.strides == contiguous_strides(a.shape)) continue;
      EXPECT_EQ(a.shape, b.shape);
      EXPECT_EQ(a.strides, b.strides);
    }
  }
}

}  // namespace
}  // namespace kw
