// The builder's process, with references that have no package; tests/worker/test_baseline.py builds
// real ones.
#include "verify/baselines.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

BaselineRequest request(const std::string& file, const std::string& text) {
  BaselineRequest out;
  out.model.file = file;
  out.model.text = text;
  out.model.cls = "Model";
  return out;
}

TEST(BaselinesOnProcesses, SaysOfEachReferenceWhyItHasNoPackage) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "baselines";
  std::filesystem::create_directories(folder);
  Baselines baselines("cpu", 2);
  testing::internal::CaptureStderr();
  const auto packages = baselines.build(
      {request("a.py", "raise ValueError('bad day')"), request("b.py", "import os; os.abort()")},
      folder);
  const std::string notes = testing::internal::GetCapturedStderr();
  EXPECT_EQ(packages, std::vector<std::string>(2));
  EXPECT_NE(notes.find("note: no torch.compile baseline of a.py: exited with 1"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("ValueError: bad day"), std::string::npos) << notes;
  EXPECT_NE(notes.find("note: no torch.compile baseline of b.py: was killed by signal 6"),
            std::string::npos)
      << notes;
  std::filesystem::remove_all(folder);
}

// Builds that end at the same moment: their answers may arrive as one piece.
TEST(BaselinesOnProcesses, AnswersThatComeTogetherAreAllRead) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "together";
  std::filesystem::create_directories(folder);
  const std::string at_once = "import os, time; time.sleep(3 - time.time() % 3); os._exit(7)";
  Baselines baselines("cpu", 16);
  testing::internal::CaptureStderr();
  const auto packages =
      baselines.build(std::vector<BaselineRequest>(16, request("a.py", at_once)), folder);
  const std::string notes = testing::internal::GetCapturedStderr();
  EXPECT_EQ(packages, std::vector<std::string>(16));
  EXPECT_EQ(notes.find("did not answer"), std::string::npos) << notes;
  std::filesystem::remove_all(folder);
}

TEST(BaselinesOnProcesses, CallsAreTimedInAProcessOfTheirOwn) {
  const std::string model =
      "import time, torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
      "        time.sleep(0.01)\n        return x + 1\n\n\n"
      "def get_inputs():\n    return [torch.randn(3)]\n\n\ndef get_init_inputs():\n    return []\n";
  const std::string faster =
      model +
      "\n\nclass ModelNew(Model):\n    def _kw_graphed_by(self, wanted):\n        return self\n\n"
      "    def forward(self, x):\n        return x + 1\n";
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "calls";
  std::filesystem::create_directories(folder);
  Baselines baselines("cpu", 1);
  const CallTimes times = baselines.time_calls(request("a.py", model).model, faster, false, folder);
  EXPECT_EQ(times.fault, "");
  EXPECT_EQ(times.best_other(), "eager");
  EXPECT_GE(times.times.at("eager").wall, 0.01);
  EXPECT_GT(times.over_best(), 5);
  EXPECT_EQ(times.times.count("compile"), 0u) << "it was not asked for";
  EXPECT_EQ(times.absent.at("graph"), "calls go by launches");
  EXPECT_FALSE(times.by_graph);
  const CallTimes none = baselines.time_calls(request("a.py", model).model,
                                              "raise ValueError('bad day')", false, folder);
  EXPECT_NE(none.fault.find("bad day"), std::string::npos) << none.fault;
  std::filesystem::remove_all(folder);
}

TEST(BaselinesOnProcesses, ABuilderThatDiesIsStartedAgain) {
  Baselines baselines("cpu", 2);
  const auto notes_on = [&](const std::vector<BaselineRequest>& requests) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(baselines.build(requests, testing::TempDir()),
              std::vector<std::string>(requests.size()));
    return testing::internal::GetCapturedStderr();
  };
  const BaselineRequest bad = request("a.py", "raise ValueError('bad day')");
  const BaselineRequest kills =
      request("b.py", "import os, signal; os.kill(os.getppid(), signal.SIGKILL)");
  for (int round = 0; round < 2; ++round) {
    EXPECT_NE(notes_on({bad}).find("ValueError: bad day"), std::string::npos);
    EXPECT_NE(notes_on({kills}).find("did not answer"), std::string::npos);
  }
  EXPECT_NE(notes_on({bad}).find("ValueError: bad day"), std::string::npos);
}

TEST(BaselinesOnProcesses, ABuilderThatCannotStartIsANote) {
  Baselines baselines("no such device", 1);
  testing::internal::CaptureStderr();
  const auto packages = baselines.build({request("a.py", ""), request("b.py", "")}, "/");
  const std::string notes = testing::internal::GetCapturedStderr();
  EXPECT_EQ(packages, std::vector<std::string>(2));
  EXPECT_NE(notes.find("a.py: the process that runs torch.compile did not answer; "),
            std::string::npos)
      << notes;
  EXPECT_NE(notes.find("no such device"), std::string::npos) << notes;
}

}  // namespace
}  // namespace kw
