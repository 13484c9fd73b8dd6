#include "train/rl/rl_batch.h"

#include <gtest/gtest.h>

#include <set>

#include "train/run/test_run.h"

namespace kw::train {
namespace {

Judgement right(double speedup) {
  return {Judged{true, true, speedup}, "", "", "of " + std::to_string(speedup)};
}
Judgement wrong(const std::string& stage) {
  return {Judged{stage == "correct", false, 0}, stage, "for some reason"};
}
Judgement unjudged() { return {{}, "", "the worker failed (3)"}; }

RlBatch batch_of(const std::vector<std::vector<Judgement>>& found, TokenId code) {
  RlBatch out;
  out.answers = found.at(0).size();
  for (size_t t = 0; t < found.size(); ++t) {
    out.tasks.push_back({t, static_cast<int>(1 + t), nullptr, {1, 2, static_cast<TokenId>(t)}});
    for (size_t a = 0; a < found[t].size(); ++a) {
      Generation& made = out.made.emplace_back();
      made.end = Generation::End::kToken;
      made.tokens = {10, code, static_cast<TokenId>(20 + a)};
      made.log_p = {-0.5F, -0.25F, -1.0F - static_cast<float>(a)};
      out.report.judgements.push_back(found[t][a]);
    }
  }
  return out;
}

TEST(Groups, LeaveOutWhatWasNotJudged) {
  const Tokenizer words = test_tokenizer();
  const AnswerFormat format(words);
  const RlBatch batch = batch_of({{right(1), unjudged(), wrong("load")},
                                  {unjudged(), unjudged(), unjudged()},
                                  {wrong("correct"), right(2), unjudged()}},
                                 *words.find_added("<|code|>"));
  const auto groups = groups_of(batch, format);
  ASSERT_EQ(groups.size(), 2u);  // of the second task nothing is known
  ASSERT_EQ(groups[0].size(), 2u);
  ASSERT_EQ(groups[1].size(), 2u);
  EXPECT_TRUE(groups[0][0].judged.correct);
  EXPECT_FALSE(groups[0][1].judged.valid);
  EXPECT_EQ(groups[1][1].judged.speedup, 2);
  const Sampled& last = groups[0][1];  // the third answer to the first task
  EXPECT_EQ(last.text.tokens,
            (std::vector<TokenId>{1, 2, 0, 10, *words.find_added("<|code|>"), 22}));
  EXPECT_EQ(last.text.answer, 3u);
  EXPECT_EQ(last.log_p, (std::vector<float>{-0.5F, -0.25F, -3.0F}));
  EXPECT_EQ(last.is_plan, (std::vector<bool>{true, true, false}));
}

TEST(Summary, CountsWhatWasJudged) {
  RlBatch batch = batch_of({{right(1), unjudged(), wrong("load")},
                            {right(4), right(1), wrong("correct")},
                            {wrong("compile"), wrong("compile"), unjudged()}},
                           0);
  batch.made[2].end = Generation::End::kLength;
  const BatchSummary all = summarise(batch, {});
  EXPECT_EQ(all.answers, 9);
  EXPECT_EQ(all.not_judged, 2);
  EXPECT_EQ(all.cut_off, 1);
  EXPECT_EQ(all.tokens, 27);
  EXPECT_NEAR(all.correct, 3.0 / 7, 1e-12);
  EXPECT_NEAR(all.reward, 3.0 / 7, 1e-12);
  EXPECT_NEAR(all.valid, 4.0 / 7, 1e-12);
  EXPECT_NEAR(all.speedup, std::cbrt(4.0), 1e-12);
  EXPECT_NEAR(all.mixed, 2.0 / 3, 1e-12);
  EXPECT_EQ(all.right_programs.size(), 2u);  // two of the three right answers are one Program
  EXPECT_EQ(all.by_level.at(1), (std::pair<int64_t, int64_t>{1, 2}));
  EXPECT_EQ(all.by_level.at(2), (std::pair<int64_t, int64_t>{2, 3}));
  EXPECT_EQ(all.by_level.at(3), (std::pair<int64_t, int64_t>{0, 2}));
  EXPECT_EQ(all.stages,
            (std::map<std::string, int64_t>{{"load", 1}, {"correct", 1}, {"compile", 2}}));
  EXPECT_EQ(all.reasons.at("not judged: the worker failed "), 2);
  RlObjectiveOptions speed;
  speed.name = "grpo_speed";
  EXPECT_NEAR(summarise(batch, speed).reward, (3 + std::log(4.0)) / 7, 1e-12);
}

TEST(Reasons, OfOneKindAreOne) {
  EXPECT_EQ(kind_of_reason("record", "a.py:12: no attribute foo [attribute]"),
            kind_of_reason("record", "b.py:7: no attribute bar [attribute]"));
  EXPECT_NE(kind_of_reason("record", "a.py:12: no attribute foo [attribute]"),
            kind_of_reason("compile", "a.py:12: no attribute foo [attribute]"));
  EXPECT_EQ(kind_of_reason("correct", "output 0: relative error 0.5"),
            kind_of_reason("correct", "output 12: relative error 7e9"));
  EXPECT_NE(kind_of_reason("correct", "output 0: wrong"),
            kind_of_reason("correct", "input 0: changed"));
}

TEST(Reasons, NameTheError) {
  EXPECT_EQ(kind_of_reason("record", "a.py:3: forward raised NameError: name 'k7' [raised]"),
            "record: NameError [raised]");
  EXPECT_EQ(kind_of_reason("compile", "at 5:12: CompilationError(NameError) [compile]"),
            "compile: CompilationError [compile]");
  EXPECT_EQ(kind_of_reason("record", "a.py:3: Errors are many [raised]"), "record: [raised]");
}

TEST(AnswerSeeds, AreTheirOwn) {
  std::set<uint64_t> seen;
  size_t count = 0;
  for (const uint64_t run : {1, 2}) {
    for (const int64_t step : {-1, 0, 1, 2}) {
      for (size_t prompt = 0; prompt < 8; ++prompt) {
        for (size_t answer = 0; answer < 8; ++answer, ++count) {
          seen.insert(answer_seed(run, step, prompt, answer));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), count);
  const auto requests =
      requests_of({{7, 1, nullptr, {3}}, {8, 1, nullptr, {4}}}, {2, 9, 0.5}, 1, 2);
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[3].prompt, std::vector<TokenId>{4});
  EXPECT_EQ(requests[3].seed, answer_seed(1, 2, 1, 1));
  EXPECT_EQ(requests[3].max_tokens, 9);
  EXPECT_EQ(requests[3].temperature, 0.5);
}

}  // namespace
}  // namespace kw::train
