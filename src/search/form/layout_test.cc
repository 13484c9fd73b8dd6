#include "search/form/layout.h"

#include "search/form/test_form.h"

namespace kw {
namespace {

class LayoutOnProcesses : public FormTest {
 protected:
  std::optional<Task> rewritten(const std::string& text) {
    prepare(text);
    return channels_last(reference_.task, record_again());
  }
  static int clones(const Task& task) {
    int count = 0;
    for (const Step& step : task.forward.steps) {
      const auto* call = std::get_if<AtenCall>(&step);
      count += call && call->op == "aten.clone.default";
    }
    return count;
  }
  static void expect_convolutions_walk_channels(const Task& task) {
    int seen = 0;
    for (const Step& step : task.forward.steps) {
      const auto* call = std::get_if<AtenCall>(&step);
      if (!call || call->op.find("conv") == std::string::npos) continue;
      const Value& input = task.forward.values[call->find("input")->value()];
      EXPECT_EQ(input.strides[1], 1) << call->op;
      ++seen;
    }
    EXPECT_GT(seen, 0);
  }
};

TEST_F(LayoutOnProcesses, ConvertsOnceAtTheEntryAndOnceAtTheExit) {
  const auto task = rewritten(
      model("        self.a = nn.Conv2d(6, 6, 3, padding=1)\n        self.n = nn.BatchNorm2d(6)\n"
            "        self.b = nn.Conv2d(6, 6, 1, bias=False)\n",
            "        return x + self.b(F.relu(self.n(self.a(x))))\n", "2, 6, 8, 8"));
  ASSERT_TRUE(task);
  EXPECT_EQ(clones(*task), 2);
  EXPECT_EQ(task->derive.outputs.size(), 2u);  // both weights, packed once
  expect_convolutions_walk_channels(*task);
  expect_equal(*task);
}

TEST_F(LayoutOnProcesses, KeepsCopiesThatTheUserMakes) {
  const auto task = rewritten(model(
      "        self.a = nn.Conv2d(4, 4, 3, groups=4)\n",
      "        y = self.a(x)\n        z = y.clone()\n        z.add_(1)\n        return y * z\n",
      "2, 4, 6, 6"));
  ASSERT_TRUE(task);
  expect_convolutions_walk_channels(*task);
  expect_equal(*task);
}

TEST_F(LayoutOnProcesses, TransposedAndThreeDimensional) {
  auto task = rewritten(model("        self.a = nn.ConvTranspose2d(4, 6, 4, stride=2, padding=1)\n",
                              "        return torch.tanh(self.a(x)), x\n", "2, 4, 5, 5"));
  ASSERT_TRUE(task);
  expect_convolutions_walk_channels(*task);
  expect_equal(*task);
  task = rewritten(model("        self.a = nn.Conv3d(4, 6, 3)\n",
                         "        return self.a(x.abs())\n", "2, 4, 5, 5, 5"));
  ASSERT_TRUE(task);
  expect_convolutions_walk_channels(*task);
  expect_equal(*task);
}

TEST_F(LayoutOnProcesses, NothingWithoutConvolutionsInTwoDimensions) {
  EXPECT_FALSE(
      rewritten(model("        self.a = nn.Linear(4, 4)\n", "        return self.a(x)\n", "2, 4")));
  EXPECT_FALSE(rewritten(
      model("        self.a = nn.Conv1d(4, 4, 3)\n", "        return self.a(x)\n", "2, 4, 9")));
}

}  // namespace
}  // namespace kw
