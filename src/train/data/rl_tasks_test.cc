// With the real worker.
#include "train/data/rl_tasks.h"

#include <gtest/gtest.h>

#include <set>

#include "formats/base/error.h"
#include "train/run/test_machine.h"
#include "train/run/test_run.h"

namespace kw::train {
namespace {

class RlTasksOnProcesses : public testing::Test {
 protected:
  RlTaskSource source(RlTaskOptions options = {.longest_prompt = 4096},
                      RlTaskSource::IsFair is_fair = {}, Split split = Split::kTrain) {
    ProgramOptions programs;
    programs.levels = {1, 2};
    programs.limits = {
        {.tensor = 0x1p14, .total = 0x1p16, .low_flops = 0x1p12, .high_flops = 0x1p16}};
    programs.split = split;
    if (split == Split::kValidation) programs.seed = validation_seed(programs.seed);
    programs.threads = 2;
    return RlTaskSource(programs, options, format_, test_thread(), test_pool(), test_profile(),
                        std::move(is_fair), stop_);
  }
  static std::vector<uint64_t> indices(const std::vector<RlTask>& tasks) {
    std::vector<uint64_t> out;
    for (const RlTask& task : tasks) out.push_back(task.index);
    return out;
  }

  const Tokenizer words_ = test_tokenizer();
  const AnswerFormat format_{words_};
  std::atomic<bool> stop_{false};
};

TEST_F(RlTasksOnProcesses, HangOnThePlaceAlone) {
  const auto whole = source().next(9, 0, {1, 1});
  const auto& once = whole.tasks;
  auto parts = source();
  const auto first = parts.next(4, 0, {1, 1}), second = parts.next(5, first.place, {1, 1});
  auto both = first.tasks;
  both.insert(both.end(), second.tasks.begin(), second.tasks.end());
  EXPECT_EQ(whole.place, second.place);
  ASSERT_EQ(indices(once), indices(both));
  std::set<std::vector<TokenId>> prompts;
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].prompt, both[i].prompt);
    EXPECT_EQ(once[i].level, both[i].level);
    prompts.insert(once[i].prompt);
  }
  EXPECT_EQ(prompts.size(), once.size());
  for (const RlTask& task : source({}, {}, Split::kValidation).next(9, 0, {1, 0}).tasks) {
    EXPECT_FALSE(prompts.contains(task.prompt));  // of level 1, too
  }
}

TEST_F(RlTasksOnProcesses, AreOfTheLevelsThatHaveWeight) {
  for (const auto& [weights, level] : {std::pair{std::vector<double>{1, 0}, 1}, {{0, 1}, 2}}) {
    for (const RlTask& task : source().next(6, 0, weights).tasks) EXPECT_EQ(task.level, level);
  }
  int second = 0;
  for (const RlTask& task : source().next(60, 0, {0.2, 0.8}).tasks) second += task.level == 2;
  EXPECT_GE(second, 38);  // 48 are expected; fewer have a chance of one in a thousand
  EXPECT_LT(second, 60);
}

// Whether one is fair may take minutes on a CPU.
TEST_F(RlTasksOnProcesses, NoMoreAreLookedAtWhenTheRunIsToStop) {
  int asked = 0;
  const auto stops = [&](const Task&, uint64_t) {
    stop_ = ++asked == 3;
    return true;
  };
  const auto found = source({.longest_prompt = 4096}, stops).next(40, 0, {1, 1});
  EXPECT_EQ(asked, 3);
  EXPECT_LE(found.tasks.size(), 3u);
}

TEST_F(RlTasksOnProcesses, PassOverWhatIsUnfairOrTooLong) {
  int asked = 0;
  const auto every_second = [&](const Task&, uint64_t) { return ++asked % 2 == 0; };
  const auto found = source({.longest_prompt = 4096}, every_second).next(4, 0, {1, 1});
  EXPECT_EQ(found.tasks.size(), 4u);
  EXPECT_EQ(found.counts.programs, static_cast<int64_t>(found.place));
  EXPECT_GE(found.counts.unfair, 3);
  EXPECT_EQ(found.counts.unfair + 4, found.counts.programs);
  size_t shortest = 4096;
  for (const RlTask& task : source().next(8, 0, {1, 1}).tasks) {
    shortest = std::min(shortest, task.prompt.size());
  }
  EXPECT_THROW(source({.longest_prompt = 10}).next(100, 0, {1, 1}), InputError);
  const auto fit = source({.longest_prompt = shortest}).next(1, 0, {1, 1});
  EXPECT_LE(fit.tasks[0].prompt.size(), shortest);
}

TEST_F(RlTasksOnProcesses, OfAFixedNumberComeAgain) {
  auto fixed = source({.longest_prompt = 4096, .programs = 3});
  const auto found = fixed.next(7, 0, {1, 1}).tasks;
  const auto at = indices(found);
  EXPECT_TRUE(std::ranges::all_of(at, [](uint64_t index) { return index < 3; }));
  const std::set<uint64_t> distinct(at.begin(), at.end());
  for (size_t i = 0; i + distinct.size() < at.size(); ++i) {
    EXPECT_EQ(at[i], at[i + distinct.size()]);
    EXPECT_EQ(found[i].prompt, found[i + distinct.size()].prompt);
  }
}

}  // namespace
}  // namespace kw::train
