#include "search/form/bias.h"

#include "search/form/test_form.h"

namespace kw {
namespace {

class BiasesApartOnProcesses : public FormTest {
 protected:
  std::optional<Task> rewritten(const std::string& text) {
    prepare(text);
    return biases_apart(reference_.task, record_again());
  }
  static void expect_no_biases(const Task& task, int convolutions) {
    for (const Step& step : task.forward.steps) {
      const auto* call = std::get_if<AtenCall>(&step);
      if (!call || call->op.find("conv") == std::string::npos) continue;
      const Arg* bias = call->find("bias");
      EXPECT_TRUE(!bias || bias->is_none());
      --convolutions;
    }
    EXPECT_EQ(convolutions, 0);
  }
};

TEST_F(BiasesApartOnProcesses, OfEveryKindOfConvolution) {
  for (const auto& [layer, input] : std::vector<std::pair<std::string, std::string>>{
           {"nn.Conv1d(4, 6, 3)", "2, 4, 9"},
           {"nn.Conv2d(4, 6, 3, padding=1, groups=2)", "2, 4, 9, 7"},
           {"nn.Conv2d(4, 6, 3)", "4, 9, 7"},  // without a batch
           {"nn.Conv3d(4, 6, 2, stride=2)", "2, 4, 6, 6, 5"},
           {"nn.ConvTranspose2d(4, 6, 4, 2, 1)", "2, 4, 5, 5"}}) {
    const auto task = rewritten(
        model("        self.a = " + layer + "\n", "        return F.relu(self.a(x))\n", input));
    ASSERT_TRUE(task) << layer;
    expect_no_biases(*task, 1);
    expect_equal(*task);
  }
}

// Steps that are replaced may use the derived tensors in another order than those they replace.
TEST_F(BiasesApartOnProcesses, TheOrderOfDerivedTensorsMeansNothing) {
  const auto task =
      rewritten(model("        self.a = nn.Conv2d(4, 4, 1)\n        self.b = nn.Conv2d(4, 4, 3)\n",
                      "        return F.relu(self.b(torch.tanh(self.a(x))))\n", "2, 4, 6, 6"));
  ASSERT_TRUE(task);
  ASSERT_GE(task->derive.outputs.size(), 2u);
  Task turned = *task;
  const auto first = turned.forward.inputs.begin() + static_cast<long>(turned.state.size());
  std::swap(turned.derive.outputs[0], turned.derive.outputs[1]);
  std::swap(first[0], first[1]);
  EXPECT_EQ(canonical_hash(turned), canonical_hash(*task));
  expect_equal(canonical(turned));
  std::swap(first[0], first[1]);  // each bias in the other's place
  EXPECT_NE(canonical_hash(turned), canonical_hash(*task));
}

TEST_F(BiasesApartOnProcesses, OneThatSeveralShare) {
  const auto task =
      rewritten(model("        self.a = nn.Conv2d(4, 4, 1)\n        self.b = nn.Conv2d(4, 4, 3)\n"
                      "        self.b.bias = self.a.bias\n",
                      "        return self.a(x), self.b(x)\n", "2, 4, 6, 6"));
  ASSERT_TRUE(task);
  expect_no_biases(*task, 2);
  expect_equal(*task);
}

TEST_F(BiasesApartOnProcesses, NothingToDo) {
  for (const auto& [layer, input] : std::vector<std::pair<std::string, std::string>>{
           {"nn.Conv2d(4, 4, 3, bias=False)", "x"},
           {"nn.Conv2d(4, 4, 3, dtype=torch.bfloat16)", "x.bfloat16()"},
           {"nn.Linear(6, 4)", "x"}}) {
    EXPECT_FALSE(rewritten(model("        self.a = " + layer + "\n",
                                 "        return self.a(" + input + ")\n", "2, 4, 6, 6")))
        << layer;
  }
}

TEST_F(BiasesApartOnProcesses, NotWhereItIsOverwritten) {
  EXPECT_FALSE(
      rewritten(model("        self.a = nn.Conv2d(4, 4, 1)\n"
                      "        self.a.bias.requires_grad_(False)\n",
                      "        y = self.a(x)\n        self.a.bias.add_(1)\n"
                      "        return y\n",
                      "2, 4, 6, 6")));
}

}  // namespace
}  // namespace kw
