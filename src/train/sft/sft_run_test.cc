// Whole runs on the CPU with the real worker: a stopped one goes on as if it had not been.
#include "train/sft/sft_run.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "formats/model_folder.h"
#include "policy/chat/conversation.h"
#include "train/run/test_run.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

SftConfig small_config() {
  SftConfig config = tiny_run<SftConfig>();
  config.tokens = 3000, config.schedules = 1, config.programs = 12, config.devices = 2;
  config.log_low = {16}, config.log_high = {20};
  config.rate = 1e-2, config.validation = 4;
  return config;
}

int64_t run(SftConfig config, const fs::path& folder, int64_t stop_at) {
  Settings settings;
  describe(settings, config);
  std::atomic<bool> stop{false};
  return run_sft(config, settings, folder, stop, stops_behind(stop_at, stop));
}

std::vector<double> losses(const fs::path& folder) {
  std::vector<double> out;
  for (const Json& line : log_of(folder)) out.push_back(line.at("loss"));
  return out;
}

TEST(SftRunOnProcesses, GoesOnExactlyWhereItWasStopped) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-sft-run";
  fs::remove_all(base);
  EXPECT_EQ(run(small_config(), base / "through", -1), 6);
  EXPECT_EQ(run(small_config(), base / "stopped", 3), 3);
  EXPECT_EQ(run(small_config(), base / "stopped", -1), 6);
  const auto through = losses(base / "through"), stopped = losses(base / "stopped");
  EXPECT_EQ(through.size(), 8u);  // six steps, two validations
  EXPECT_EQ(through, stopped);
  EXPECT_LT(through.back(), through.front());
  expect_same_models(base / "through", base / "stopped");
  SftConfig another = small_config();
  another.rate = 1e-3;
  EXPECT_THROW(run(another, base / "through", -1), InputError);
  fs::remove_all(base);
}

// Rows of a file in place of the teacher's pairs.
TEST(SftRunOnProcesses, LearnsRowsOfAFile) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-sft-rows", file = base / "rows.jsonl";
  fs::remove_all(base);
  fs::create_directories(base);
  const auto write = [&](int count) {
    std::ofstream out(file);
    for (int i = 0; i < count; ++i) {
      const std::string name = "t" + std::to_string(10 + i % 30);
      out << conversation_line({"def forward(a0): " + name + " = a0 + 1\n", "-> " + name + "\n",
                                "import torch\n\n\nclass ModelNew:\n    " + name + " = 1\n"},
                               Json::object());
    }
  };
  write(90);
  SftConfig config = small_config();
  config.rows = file, config.programs = 20, config.tokens = 1000;
  EXPECT_EQ(run(config, base / "through", -1), 6);
  EXPECT_EQ(run(config, base / "stopped", 3), 3);
  EXPECT_EQ(run(config, base / "stopped", -1), 6);
  const auto through = losses(base / "through");
  EXPECT_EQ(through, losses(base / "stopped"));
  EXPECT_LT(through.back(), 0.9 * through.front());
  expect_same_models(base / "through", base / "stopped");
  EXPECT_EQ(run(config, base / "other", 3), 3);
  write(91);
  EXPECT_THROW(run(config, base / "other", -1), InputError);
  config.validation = 91;
  EXPECT_THROW(run(config, base / "none", -1), InputError);
  config.rows = base / "missing.jsonl";
  EXPECT_THROW(run(config, base / "none", -1), InputError);
  fs::remove_all(base);
}

// Rows whose code does something else, or was not tried, are as if they were not there.
TEST(SftRunOnProcesses, LearnsFromTextsThatDoTheSameAlone) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-sft-same";
  fs::remove_all(base);
  fs::create_directories(base);
  std::ofstream all(base / "all.jsonl"), same(base / "same.jsonl");
  for (int i = 0; i < 90; ++i) {
    const std::string name = "t" + std::to_string(10 + i % 30);
    const Conversation row = {"def forward(a0): " + name + " = a0 + 1\n", "-> " + name + "\n",
                              "import torch\n\n\nclass ModelNew:\n    " + name + " = 1\n"};
    const char* file = i % 3 == 0 ? "same" : i % 3 == 1 ? "other" : "not tried";
    all << conversation_line(row, i == 1 ? Json::object() : Json({{"file", file}}));
    if (i % 3 == 0) same << conversation_line(row, Json::object());
  }
  all.close(), same.close();
  SftConfig config = small_config();
  config.programs = 20, config.tokens = 1000, config.validation = 0;
  config.rows = base / "same.jsonl";
  EXPECT_EQ(run(config, base / "them", -1), 6);
  SftConfig chosen = config;
  chosen.rows = base / "all.jsonl", chosen.file = "same";
  EXPECT_EQ(run(chosen, base / "chosen", -1), 6);
  EXPECT_EQ(losses(base / "chosen"), losses(base / "them"));
  chosen.rows = base / "same.jsonl";
  EXPECT_THROW(run(chosen, base / "none", -1), InputError) << "no row says it";
  fs::remove_all(base);
}

// Its rates are those of the longer schedule, and its programs those that come next.
TEST(SftRunOnProcesses, CanBeMadeLonger) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-sft-longer";
  fs::remove_all(base);
  SftConfig config = small_config();
  config.validation = 0, config.steps = 3;
  run(config, base / "three", -1);
  config.steps = 1;
  EXPECT_EQ(run(config, base / "longer", -1), 1);
  config.steps = 3;
  Settings settings;
  describe(settings, config);
  std::string said;
  EXPECT_EQ(run_sft(config, settings, base / "longer", std::atomic<bool>(false),
                    {[&](const std::string& line) { said += line + "\n"; }}),
            3);
  EXPECT_NE(said.find("goes on from step 1, to step 3 in place of 1"), std::string::npos) << said;
  const auto three = log_of(base / "three"), longer = log_of(base / "longer");
  ASSERT_EQ(longer.size(), 3u);
  ASSERT_EQ(three.size(), 3u);
  for (const size_t i : {1, 2}) {
    EXPECT_EQ(longer[i].at("rate"), three[i].at("rate"));
    EXPECT_EQ(longer[i].at("tokens"), three[i].at("tokens"));
  }
  fs::remove_all(base);
}

// An adapter that learns on the model of another run, and is all that is kept; then one on it.
TEST(SftRunOnProcesses, AnAdapterGoesOnExactlyWhereItWasStopped) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-sft-adapter";
  fs::remove_all(base);
  SftConfig config = small_config();
  config.steps = config.checkpoint_every = 2;
  run(config, base / "whole", -1);
  const fs::path whole = last_checkpoint(base / "whole")->folder / "model";
  config = small_config();
  config.tokenizer.clear();
  config.init = whole.string(), config.lora_rank = 4;
  EXPECT_EQ(run(config, base / "through", -1), 6);
  EXPECT_EQ(run(config, base / "stopped", 3), 3);
  EXPECT_EQ(run(config, base / "stopped", -1), 6);
  EXPECT_EQ(losses(base / "through"), losses(base / "stopped"));
  expect_same_models(base / "through", base / "stopped");
  // Its base has to be what it was.
  const auto weights = fs::path(config.init) / "model.safetensors";
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end)
      << '\x7';
  EXPECT_THROW(run(config, base / "through", -1), InputError);
  const fs::path adapter = last_checkpoint(base / "through")->folder / "model";
  EXPECT_FALSE(fs::exists(adapter / "model.safetensors"));
  fs::rename(base, base.string() + "-moved");  // base and adapter together
  fs::remove_all(base);
  const fs::path moved = base.string() + "-moved";
  // The adapter goes on, from a place of its own; the base stays the base.
  config.init = (moved / fs::relative(adapter, base)).string();
  config.steps = 2;
  EXPECT_EQ(run(config, moved / "next", -1), 2);
  const fs::path after = last_checkpoint(moved / "next")->folder / "model";
  EXPECT_TRUE(fs::equivalent(find_model(after).base, moved / fs::relative(whole, base)));
  config.lora_rank = 5;
  EXPECT_THROW(run(config, moved / "wider", -1), InputError);
  config.init.clear(), config.tokenizer = kTestTokenizer;
  EXPECT_THROW(run(config, moved / "none", -1), InputError);
  fs::remove_all(moved);
}

}  // namespace
}  // namespace kw::train
