// Rows come once a pass, in an order of each pass's own, and what is held out is not learned from.
#include "train/data/example_source.h"

#include <gtest/gtest.h>

#include <set>

#include "formats/base/error.h"
#include "train/run/test_run.h"

namespace kw::train {
namespace {

std::vector<Conversation> numbered(int count, int prompts) {
  std::vector<Conversation> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back(
        {"prompt " + std::to_string(i % prompts), "plan\n", "code " + std::to_string(i)});
  }
  return rows;
}

TEST(RowExamples, ComeOnceAPassInOtherOrders) {
  const Tokenizer tokenizer = test_tokenizer();
  const AnswerFormat format(tokenizer);
  const std::vector<Conversation> rows = numbered(23, 23);
  RowExamples source(rows, format, 5, 1), same(rows, format, 5, 1);
  std::vector<std::vector<TokenId>> passes[2];
  for (uint64_t chunk = 0; chunk < 10; ++chunk) {  // five a pass, the last of three
    const ExampleChunk made = source.make(chunk);
    EXPECT_EQ(made.examples.size(), chunk % 5 == 4 ? 3u : 5u);
    for (const Example& example : made.examples) passes[chunk / 5].push_back(example.tokens);
  }
  EXPECT_NE(passes[0], passes[1]);
  std::set<std::vector<TokenId>> want;
  for (const Conversation& row : rows)
    want.insert(format.example(row.prompt, row.plan, row.code).tokens);
  for (const auto& pass : passes) {
    EXPECT_EQ(std::set<std::vector<TokenId>>(pass.begin(), pass.end()), want);
  }
  EXPECT_EQ(same.make(7).examples.at(2).tokens, source.make(7).examples.at(2).tokens);
  EXPECT_EQ(RowExamples(rows, format, 512, 1).make(3).examples.size(), 23u);
}

TEST(HeldOut, RowsOfAPromptStayTogether) {
  std::vector<Conversation> rows = numbered(40, 10), others = numbered(40, 10);
  others.push_back({"another", "", "code"});
  const std::vector<Conversation> held = hold_out(rows, 6);
  EXPECT_EQ(held.size(), 8u);  // two prompts
  EXPECT_EQ(rows.size(), 32u);
  std::set<std::string> kept, out;
  for (const Conversation& row : rows) kept.insert(row.prompt);
  for (const Conversation& row : held) out.insert(row.prompt);
  for (const std::string& prompt : out) EXPECT_FALSE(kept.contains(prompt));
  // What comes later changes little of it.
  const std::vector<Conversation> again = hold_out(others, 6);
  EXPECT_GE(std::count_if(again.begin(), again.end(),
                          [&](const Conversation& row) { return out.contains(row.prompt); }),
            4);
  std::vector<Conversation> few = numbered(4, 2);
  EXPECT_TRUE(hold_out(few, 0).empty());
  EXPECT_EQ(few.size(), 4u);
  EXPECT_THROW(hold_out(few, 3), InputError);
}

}  // namespace
}  // namespace kw::train
