// With the real judge.
#include "train/data/pairs_check.h"

#include <gtest/gtest.h>

#include "train/run/test_machine.h"

namespace kw::train {
namespace {

TEST(PairCheckOnProcesses, RightAndWrongOnesAreToldApart) {
  PairOptions options;
  options.levels = {1};
  options.limits = {{.tensor = 0x1p12, .total = 0x1p14, .low_flops = 0x1p10, .high_flops = 0x1p12}};
  options.threads = 2;
  options.schedules = 2;
  PairSource source(options, test_pool(), test_profile());
  std::vector<Pair> pairs = source.make(0, 8);
  ASSERT_GT(pairs.size(), 8u);
  const uint64_t unfair = pairs.back().index;
  const auto is_fair = [&](const Task& task) { return &task != pairs.back().task.get(); };
  // One that stores elsewhere.
  Pair& broken = pairs[0];
  const size_t pointer = broken.code.find("_ptr", broken.code.find("tl.store("));
  ASSERT_NE(pointer, std::string::npos) << broken.code;
  broken.code.insert(pointer + 4, " + 1");
  PairCheck check(test_judge(), is_fair, 0);
  check.check(pairs, 5);
  const PairVerdicts& found = check.verdicts();
  int64_t left_out = 0;
  for (const Pair& pair : pairs) left_out += pair.index == unfair;
  EXPECT_EQ(found.unfair, left_out);
  EXPECT_EQ(found.wrong, 1);
  EXPECT_EQ(found.not_judged, 0);
  EXPECT_EQ(found.right, static_cast<int64_t>(pairs.size()) - 1 - left_out);
  ASSERT_EQ(found.failures.size(), 1u);
  EXPECT_EQ(found.failures[0].at("code"), broken.code);
  EXPECT_EQ(found.failures[0].at("stage"), "correct");
  const auto [right, judged] = found.cells.at(cell_of(broken));
  EXPECT_LT(right, judged);
}

TEST(PairCheck, ACellIsOperatorsAndKindsOfTiling) {
  Pair pair;
  pair.operators = "Conv2d, ReLU";
  pair.plan =
      "-> t7, t8\n"
      "t7 (3, 4); axes: flat; values: t7; family: pointwise; tiling: flat, BLOCK=256; warps: 8\n"
      "t8 (3,); axes: [3], [4]; values: t8; family: reduction; tiling: looped, BLOCK_M=4 "
      "BLOCK_N=512; warps: 4\n";
  EXPECT_EQ(cell_of(pair),
            "Conv2d, ReLU | pointwise flat, BLOCK=# reduction looped, BLOCK_M=# BLOCK_N=#");
}

struct AllRight : Judge {
  JudgeReport judge(const std::vector<AnswerToJudge>& answers, uint64_t) override {
    JudgeReport out;
    out.judgements.assign(answers.size(), {Judged{true, true, 1}, "", ""});
    return out;
  }
};

TEST(PairCheck, EnoughOfACellIsEnough) {
  const auto pair = [](const std::string& operators) {
    Pair out;
    out.operators = operators;
    out.task = std::make_shared<const Task>();
    return out;
  };
  AllRight judge;
  PairCheck check(
      judge, [](const Task&) { return true; }, 2);
  check.check({pair("Add"), pair("Add"), pair("Add"), pair("Mul")}, 1);
  check.check({pair("Add"), pair("Mul"), pair("Mul")}, 1);
  EXPECT_EQ(check.verdicts().right, 4);
  EXPECT_EQ(check.verdicts().skipped, 3);
  EXPECT_EQ(to_json(check.verdicts()).at("cells_all_right"), 2);
}

}  // namespace
}  // namespace kw::train
