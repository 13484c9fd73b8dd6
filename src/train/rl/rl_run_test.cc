// Whole runs on the CPU with the real worker, which records tasks, and a judge that likes some
// answers: what is rewarded is learned, a run that was stopped goes on as if it had not been, and
// the next batch is written while one is judged.
#include "train/rl/rl_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "formats/base/error.h"
#include "formats/model_folder.h"
#include "train/run/test_machine.h"
#include "train/run/test_run.h"

namespace kw::train {
namespace {

namespace fs = std::filesystem;

RlConfig small_config() {
  RlConfig config = tiny_run<RlConfig>();
  config.longest_prompt = 500, config.max_tokens = 6, config.rows = 32;
  config.log_low = {12}, config.log_high = {16}, config.log_elements = 14;
  config.prompts = 4, config.answers = 8;
  config.rate = 5e-3, config.validation = 8;
  config.overlap = false;
  return config;
}

// Right is what begins with a small letter.
class LetterJudge : public Judge {
 public:
  JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t) override {
    before();
    JudgeReport out;
    for (const AnswerToJudge& answer : answers) {
      const bool right = !answer.text.empty() && answer.text[0] >= 'a' && answer.text[0] <= 'z';
      out.judgements.push_back({Judged{true, right, right ? 1.0 : 0.0}, right ? "" : "correct",
                                right ? "" : "no small letter"});
    }
    out.distinct = static_cast<int64_t>(answers.size());
    answers_ += out.distinct;
    return out;
  }
  virtual void before() {}
  int64_t answers() const { return answers_; }

 private:
  int64_t answers_ = 0;
};

class RlRunsOnProcesses : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::path(testing::TempDir()) / "kw-rl-run";
    fs::remove_all(base_);
  }
  void TearDown() override { fs::remove_all(base_); }

  RlEnd run(RlConfig config, const std::string& folder, Judge& judge, int64_t stop_at = -1,
            const std::function<void(const std::vector<std::string>&)>& live = {},
            const RlTaskSource::IsFair& is_fair = {}) const {
    Settings settings;
    describe(settings, config);
    std::atomic<bool> stop{false};
    RunProgress progress = stops_behind(stop_at, stop);
    progress.live = live;
    return run_rl(config, settings, base_ / folder, stop, progress,
                  {test_thread(), test_pool(), judge, is_fair});
  }

  // Lines of the log without times.
  std::vector<Json> log(const std::string& folder, const std::string& part) const {
    std::vector<Json> out;
    for (Json& json : log_of(base_ / folder)) {
      if (json.at("part") != part) continue;
      for (auto it = json.begin(); it != json.end();) {
        const bool time = it.key().ends_with("seconds") || it.key().ends_with("_share");
        it = time ? json.erase(it) : next(it);
      }
      out.push_back(std::move(json));
    }
    return out;
  }

  // What an adapter, or another run, may begin with.
  fs::path model_after_one_step(Judge& judge) const {
    RlConfig config = small_config();
    config.steps = 1;
    run(config, "whole", judge);
    return last_checkpoint(base_ / "whole")->folder / "model";
  }

  void expect_same(const std::string& one, const std::string& other) const {
    EXPECT_EQ(log(one, "rl"), log(other, "rl"));
    EXPECT_EQ(log(one, "held_out"), log(other, "held_out"));
    expect_same_models(base_ / one, base_ / other);
  }

  fs::path base_;
};

double mean_reward(const std::vector<Json>& lines, size_t first, size_t count) {
  double out = 0;
  for (size_t i = first; i < first + count; ++i) out += lines.at(i).at("reward").get<double>();
  return out / static_cast<double>(count);
}

TEST_F(RlRunsOnProcesses, LearnWhatIsRewarded) {
  for (const std::string objective : {"grpo", "drpo", "rejection"}) {
    RlConfig config = small_config();
    config.objective.name = objective;
    config.objective.drpo.temperature = 1;
    config.prompts_per_update = 2;
    config.max_tokens = 2;
    config.rate = 2e-2;
    config.steps = 14;
    config.checkpoint_every = 100;
    LetterJudge judge;
    const RlEnd end = run(config, objective, judge);
    EXPECT_TRUE(end.done);
    EXPECT_EQ(end.step, 14);
    EXPECT_EQ(judge.answers(), 14 * 32 + 6 * 8);
    const auto lines = log(objective, "rl");
    ASSERT_EQ(lines.size(), 14u);
    EXPECT_EQ(lines[0].at("updates"), 2);
    EXPECT_GT(mean_reward(lines, 11, 3), mean_reward(lines, 0, 3) + 0.2) << objective;
    const auto held_out = log(objective, "held_out");
    ASSERT_EQ(held_out.size(), 6u);  // before the first step, at 3, 6, 9, 12 and at the end
    EXPECT_GE(held_out.back().at("right"), held_out.front().at("right")) << objective;
  }
}

TEST_F(RlRunsOnProcesses, GoOnExactlyWhereTheyWereStopped) {
  RlConfig config = small_config();
  config.objective.kl_weight = 0.05;
  LetterJudge judge;
  EXPECT_TRUE(run(config, "through", judge).done);
  const RlEnd stopped = run(config, "stopped", judge, 3);  // before held-out tasks were asked about
  EXPECT_FALSE(stopped.done);
  EXPECT_EQ(stopped.step, 3);
  EXPECT_EQ(log("stopped", "held_out").size(), 1u);
  EXPECT_TRUE(run(config, "stopped", judge).done);
  EXPECT_EQ(log("through", "rl").size(), 6u);
  EXPECT_EQ(log("through", "held_out").size(), 3u);
  expect_same("through", "stopped");
  // As one that was killed behind its third step.
  run(config, "killed", judge, 3);
  fs::remove_all(base_ / "killed" / "checkpoint-3");
  EXPECT_TRUE(run(config, "killed", judge).done);
  expect_same("through", "killed");
  config.rate = 1e-3;
  EXPECT_THROW(run(config, "through", judge), InputError);
}

// Does not answer about the first batch before the second is being written.
class WaitingJudge : public LetterJudge {
 public:
  void before() override {
    std::unique_lock lock(mutex_);
    ++calls_;
    changed_.notify_all();
    if (calls_ == 1) {
      saw_ = changed_.wait_for(lock, std::chrono::seconds(30), [&] { return written_ > 1; });
    }
  }
  void wrote() {
    const std::lock_guard lock(mutex_);
    ++written_;
    changed_.notify_all();
  }
  bool saw() const { return saw_; }
  int calls() const { return calls_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int calls_ = 0, written_ = 0;
  bool saw_ = false;
};

// An adapter to a model that stays, which is also what KL is counted from.
TEST_F(RlRunsOnProcesses, LearnByAnAdapterAndGoOnExactly) {
  LetterJudge judge;
  const fs::path whole = model_after_one_step(judge);
  RlConfig config = small_config();
  config.objective.kl_weight = 0.05;
  config.tokenizer.clear();
  config.init = whole.string(), config.lora_rank = 4;
  EXPECT_TRUE(run(config, "through", judge).done);
  EXPECT_EQ(run(config, "stopped", judge, 3).step, 3);
  EXPECT_TRUE(run(config, "stopped", judge).done);
  expect_same("through", "stopped");
  const auto lines = log("through", "rl");
  EXPECT_EQ(lines.front().at("kl"), 0.0);  // of the model that it begins as
  EXPECT_GT(lines.back().at("kl"), 0.0);
  const fs::path adapter = last_checkpoint(base_ / "through")->folder / "model";
  EXPECT_TRUE(find_model(adapter).adapter);
  // From that adapter on, KL is counted from what it was.
  config.init = adapter.string();
  config.steps = 1;
  run(config, "next", judge);
  EXPECT_EQ(log("next", "rl").front().at("kl"), 0.0);
}

// A model whose every number is none learns nothing, and its run does not end as if it had.
TEST_F(RlRunsOnProcesses, EndWhereGradientsAreNoNumbers) {
  LetterJudge judge;
  const fs::path whole = model_after_one_step(judge);
  const auto text = Json::parse(read_file(whole / "config.json"));
  Json broken = text;
  broken["rms_norm_eps"] = -1e9;  // of what it takes the root
  std::ofstream(whole / "config.json") << broken;
  RlConfig config = small_config();
  config.tokenizer.clear();
  config.init = whole.string();
  config.validation = 0;
  try {
    run(config, "broken", judge);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("no numbers: a lower rl.rate"), std::string::npos);
  }
  EXPECT_FALSE(last_checkpoint(base_ / "broken"));
}

TEST_F(RlRunsOnProcesses, WriteTheNextBatchWhileOneIsJudged) {
  RlConfig config = small_config();
  config.overlap = true;
  config.validation = 0;
  config.steps = 4;
  WaitingJudge judge;
  const RlEnd end = run(config, "overlap", judge, -1, [&](const auto& lines) {
    if (lines.back() == "drawing tasks") judge.wrote();
  });
  EXPECT_TRUE(end.done);
  EXPECT_TRUE(judge.saw());
  EXPECT_EQ(judge.calls(), 4);
  const auto lines = log("overlap", "rl");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].at("kl"), 0);  // there is no reference
  // It may be stopped, and goes on.
  EXPECT_EQ(run(config, "again", judge, 2).step, 2);
  EXPECT_TRUE(run(config, "again", judge).done);
  EXPECT_EQ(log("again", "rl").size(), 4u);
}

// A worker dies with the thread that started it: if many threads drew tasks, it might be started
// again for each of them.
TEST_F(RlRunsOnProcesses, DrawAllTasksOnOneThread) {
  for (const bool overlap : {false, true}) {
    RlConfig config = small_config();
    config.overlap = overlap;
    config.steps = 3;
    config.evaluate_every = 1;
    std::set<pid_t> threads;
    LetterJudge judge;
    run(config, overlap ? "overlapped" : "one by one", judge, -1, {}, [&](const Task&, uint64_t) {
      threads.insert(::gettid());
      return true;
    });
    EXPECT_EQ(threads.size(), 1u);
  }
}

TEST_F(RlRunsOnProcesses, FollowTheirCurriculum) {
  RlConfig config = small_config();
  config.levels = {1, 2};
  config.promote_at = 0.0;  // any bound above 0
  config.evaluate_every = 1;
  config.validation = 8;
  config.patience = 1;
  config.earlier_share = 0.5;
  config.rate = 0;  // so that the bound does not rise
  config.steps = 10;
  LetterJudge judge;
  const RlEnd end = run(config, "levels", judge);
  EXPECT_TRUE(end.done);
  EXPECT_LT(end.step, 10);  // the curriculum ended it
  const auto held_out = log("levels", "held_out");
  EXPECT_EQ(held_out.front().at("level"), 1);
  EXPECT_EQ(held_out.back().at("level"), 2);
}

TEST_F(RlRunsOnProcesses, RefuseSettingsThatDoNotGoTogether) {
  LetterJudge judge;
  RlConfig config = small_config();
  config.row = 400;
  EXPECT_THROW(run(config, "row", judge), InputError);
  config = small_config();
  config.objective.name = "drpo";  // one update
  EXPECT_THROW(run(config, "drpo", judge), InputError);
  config = small_config();
  config.levels = {2, 1};
  EXPECT_THROW(run(config, "levels", judge), InputError);
  config = small_config();
  config.context = 256;
  EXPECT_THROW(run(config, "context", judge), InputError);
  config = small_config();
  config.opinion_model = "wise";  // of no endpoint
  EXPECT_THROW(run(config, "opinions", judge), InputError);
  config = small_config();
  config.levels = {1, 40};  // of forty operators, none has so few FLOPs
  config.log_low = {10}, config.log_high = {11}, config.log_elements = 5;
  EXPECT_THROW(run(config, "sizes", judge), InputError);
}

}  // namespace
}  // namespace kw::train
