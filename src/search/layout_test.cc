#include "search/layout.h"

#include <gtest/gtest.h>

#include "program/transform.h"
#include "verify/verifier.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

std::string model(const std::string& init, const std::string& forward, const std::string& shape) {
  return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
         "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
         init + "        self.eval()\n\n    def forward(self, x):\n" + forward +
         "\n\ndef get_inputs():\n    return [torch.randn(" + shape +
         ")]\n\n\ndef get_init_inputs():\n    return []\n";
}

class Layout : public testing::Test {
 protected:
  RecordRequest request(const std::string& text) const {
    RecordRequest out;
    out.text = text;
    out.file = "model.py";
    out.profile = profile_;
    return out;
  }
  std::optional<Task> rewritten(const std::string& text) {
    reference_ = verifier_.prepare(request(text), {});
    return channels_last(reference_.task, text, [&](const std::string& python) {
      RecordRequest again = request(python);
      again.cls = "ModelNew";
      auto built = build_task(pool_, again, milliseconds(60000));
      return built.fault ? std::nullopt : std::optional<Task>(canonical(built.value->task));
    });
  }
  // Real trials against the original: as near to an fp64 run as that is, results laid out alike.
  void expect_equal(const Task& task) {
    const int id = executor_.load(task);
    for (Variation variation : {Variation::kPlain, Variation::kAffine}) {
      TrialRequest request;
      request.reference = reference_.id;
      request.candidate = id;
      request.variation = variation;
      const TrialReport report = executor_.trial(request, milliseconds(60000));
      ASSERT_EQ(report.status, "ok") << report.message;
      EXPECT_EQ(report.difference, "");
      for (const OutputErrors& errors : report.outputs) {
        EXPECT_EQ(errors.nonfinite_mismatch, 0);
        EXPECT_LE(errors.candidate_rms, 4 * errors.reference_rms);
      }
    }
    executor_.unload(id);
    const Program &a = reference_.task.forward, &b = task.forward;
    for (size_t i = 0; i < a.outputs.size(); ++i) {
      EXPECT_EQ(a.values[a.outputs[i]].strides, b.values[b.outputs[i]].strides);
    }
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

  DeviceProfile profile_ = device_profile("h200");
  WorkerPool pool_{default_worker_config()};
  ExecutorClient executor_{default_executor_config("cpu")};
  Verifier verifier_{pool_, executor_, profile_};
  Reference reference_;
};

TEST_F(Layout, ConvertsOnceAtTheEntryAndOnceAtTheExit) {
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

TEST_F(Layout, KeepsCopiesThatTheUserMakes) {
  const auto task = rewritten(model(
      "        self.a = nn.Conv2d(4, 4, 3, groups=4)\n",
      "        y = self.a(x)\n        z = y.clone()\n        z.add_(1)\n        return y * z\n",
      "2, 4, 6, 6"));
  ASSERT_TRUE(task);
  expect_convolutions_walk_channels(*task);
  expect_equal(*task);
}

TEST_F(Layout, TransposedAndThreeDimensional) {
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

TEST_F(Layout, NothingWithoutConvolutionsInTwoDimensions) {
  EXPECT_FALSE(
      rewritten(model("        self.a = nn.Linear(4, 4)\n", "        return self.a(x)\n", "2, 4")));
  EXPECT_FALSE(rewritten(
      model("        self.a = nn.Conv1d(4, 4, 3)\n", "        return self.a(x)\n", "2, 4, 9")));
}

}  // namespace
}  // namespace kw
