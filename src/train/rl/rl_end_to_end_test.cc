// A model that knows the teacher's answer to a program by heart, and a run that asks it about this
// one: recorded, sampled, built, judged by the real worker and executor, learned from.
#include <gtest/gtest.h>

#include <fstream>

#include "synth/hygiene.h"
#include "train/data/pairs.h"
#include "train/rl/rl_run.h"
#include "train/run/checkpoint.h"
#include "train/run/test_machine.h"
#include "train/run/test_run.h"
#include "train/step/sft_step.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

RlConfig config_of(const fs::path& model) {
  RlConfig config;
  config.device = "cpu";
  config.init = model;
  config.seed = 6;  // whose first program has a short answer
  config.log_low = {10}, config.log_high = {12}, config.log_elements = 12;
  config.threads = 2;
  config.tasks = 1, config.prompts = 1, config.answers = 6, config.rows = 8;
  config.longest_prompt = 200, config.max_tokens = 700, config.row = 1024;
  config.temperature = 0.05;
  config.steps = 2, config.warmup = 0, config.rate = 1e-6, config.validation = 0;
  return config;
}

// Saves a model that has learned the pair, with its tokenizer.
void learn_by_heart(const RlConfig& config, const fs::path& folder) {
  RlConfig from_nothing = config;
  from_nothing.init = "";
  from_nothing.tokenizer = kTestTokenizer;
  from_nothing.width = 64, from_nothing.layers = 2, from_nothing.heads = 4;
  from_nothing.inner = 192, from_nothing.context = 1024;
  const RunStart start = load_start(from_nothing, {.adam = {.decay = 0}}, {});
  PairOptions options{task_programs(config, Split::kTrain)};
  options.schedules = 1;
  std::vector<Example> examples;
  for (const Pair& pair : PairSource(options, test_pool(), test_profile()).make(0, 1)) {
    examples.push_back(start.format.example(pair.prompt, pair.plan, pair.code));
    ASSERT_LE(examples.back().tokens.size(), 600u);
  }
  ASSERT_EQ(examples.size(), 1u);
  Replicas models(start.model);
  double loss = 1;
  for (int step = 0; step < 400 && loss > 0.02; ++step) {
    loss = sft_step(models, *start.optimizer, examples, 1024, 1, 4e-3).loss;
  }
  ASSERT_LE(loss, 0.02);
  start.model.save(folder, 1 << 30);
  std::ofstream(folder / "tokenizer.json") << start.tokenizer_json;
}

TEST(RlEndToEndOnProcesses, RewardsAnswersThatAreRight) {
  const fs::path base = fs::path(testing::TempDir()) / "kw-rl-end-to-end";
  fs::remove_all(base);
  fs::create_directories(base / "model");
  RlConfig config = config_of(base / "model");
  learn_by_heart(config, base / "model");
  Settings settings;
  describe(settings, config);
  const std::atomic<bool> stop{false};
  std::vector<std::string> lines;
  const RunProgress progress{[&](const std::string& line) { lines.push_back(line); }};
  Examiner examiner(test_pool(), test_executor(), test_profile());
  const auto is_fair = [&](const Task& task, uint64_t seed) {
    return examiner.examine(task, seed).flaw == Flaw::kNone;
  };
  const RlEnd end = run_rl(config, settings, base / "run", stop, progress,
                           {test_thread(), test_pool(), test_judge(), is_fair});
  EXPECT_TRUE(end.done);
  EXPECT_EQ(end.step, 2);
  EXPECT_EQ(lines.size(), 2u);
  for (const Json& json : log_of(base / "run")) {
    EXPECT_GE(json.at("correct").get<double>(), 0.5) << json;
    EXPECT_EQ(json.at("answers"), 6);
    EXPECT_EQ(json.at("not_judged"), 0) << json;
    EXPECT_LE(json.at("distinct"), 6);
    EXPECT_GT(json.at("build_seconds").get<double>(), 0);
    EXPECT_GT(json.at("executor_seconds").get<double>(), 0);
  }
  EXPECT_EQ(last_checkpoint(base / "run")->step, 2);
  fs::remove_all(base);
}

}  // namespace
}  // namespace kw::train
