#include "train/run/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/base/error.h"
#include "train/run/test_run.h"
#include "train/step/adamw.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

class RunFolders : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(path_);
    settings_.add("sft.rate", rate_, "", 0, 1);
    settings_.add("sft.steps", steps_, "");
  }
  void TearDown() override { fs::remove_all(path_); }

  // What is said against it; empty where it may go on.
  std::string refusal(const std::string& start) {
    try {
      const RunFolder folder(path_, settings_, start);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  const fs::path path_ = fs::path(testing::TempDir()) / "kw-run-folder";
  double rate_ = 0.5;
  int64_t steps_ = 6;
  Settings settings_;
};

TEST_F(RunFolders, AreOfOneRunAtATime) {
  const RunFolder first(path_, settings_, "");
  EXPECT_NE(refusal("").find("another run"), std::string::npos);
}

TEST_F(RunFolders, GoOnWithTheSameSettingsFromTheSameModel) {
  const Transformer model = tiny_model(40);
  AdamW adam(model.parameters(), {});
  RunFolder(path_, settings_, "of a model").keep(3, model, "{}", adam, {{"place", 7}});
  const auto goes_on_line = [&] {
    return RunFolder(path_, settings_, "of a model").goes_on_line();
  };
  EXPECT_EQ(goes_on_line(), "goes on from step 3");
  EXPECT_EQ(RunFolder(path_, settings_, "of a model").from()->state.at("place"), 7);
  steps_ = 9;
  EXPECT_EQ(goes_on_line().find("goes on from step 3, to step 9 in place of 6"), 0u);
  steps_ = 2;
  EXPECT_EQ(goes_on_line(), "is at step 3 of 2 already (--set sft.steps=N goes on to another)");
  EXPECT_NE(refusal("of another").find("model.init"), std::string::npos);
  rate_ = 0.25;
  EXPECT_NE(refusal("of a model")
                .find("begun with --set sft.rate=0.5, and now there is --set sft.rate=0.25;"),
            std::string::npos);
}

TEST_F(RunFolders, HoldNothingButTheirRun) {
  fs::create_directories(path_);
  std::ofstream(path_ / "log.jsonl") << "mine";
  EXPECT_NE(refusal("").find("holds other files (log.jsonl)"), std::string::npos);
  EXPECT_EQ(fs::file_size(path_ / "log.jsonl"), 4u);
  fs::remove(path_ / "log.jsonl");
  EXPECT_EQ(refusal(""), "");
}

TEST_F(RunFolders, AFolderThatOnlyHasTheNameOfACheckpointStays) {
  const Transformer model = tiny_model(40);
  AdamW adam(model.parameters(), {});
  const RunFolder run(path_, settings_, "");
  fs::create_directories(path_ / "checkpoint-1");
  std::ofstream(path_ / "checkpoint-1" / "thesis.tex") << "mine";
  for (int64_t step = 2; step < 6; ++step) run.keep(step, model, "{}", adam, Json::object());
  EXPECT_TRUE(fs::exists(path_ / "checkpoint-1" / "thesis.tex"));
  EXPECT_FALSE(fs::exists(path_ / "checkpoint-2"));
}

}  // namespace
}  // namespace kw::train
