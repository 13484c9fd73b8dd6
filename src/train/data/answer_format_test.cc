#include "train/data/answer_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "formats/base/error.h"
#include "policy/chat/prompt.h"

namespace kw::train {
namespace {

std::string tokenizer_text(const char* name) {
  std::ostringstream out;
  out << std::ifstream(std::string(KW_SOURCE_DIR "/tests/vectors/tokenizers/") + name +
                       "/tokenizer.json")
             .rdbuf();
  return std::move(out).str();
}

TEST(AnswerFormat, ExamplesComeApart) {
  const Tokenizer tokenizer(tokenizer_text("trained"), "tokenizer.json");
  const AnswerFormat format(tokenizer);
  const std::string task = "def forward(\n    a0,  # float32 (4, 8)\n):\n    return a0\n";
  const std::string plan = "values: t1 -> out0; family: pointwise\n";
  const std::string code = "import torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n";
  const Example example = format.example(task, plan, code);
  const std::vector<TokenId> answer(example.tokens.begin() + example.answer, example.tokens.end());
  const std::vector<TokenId> prompt(example.tokens.begin(),
                                    example.tokens.begin() + example.answer);
  EXPECT_EQ(prompt, format.prompt(task));
  EXPECT_EQ(tokenizer.decode(prompt), task);
  EXPECT_EQ(format.text(answer), plan + code);
  EXPECT_EQ(answer.back(), format.end());
  const Answer read = parse_answer(format.text(answer));
  EXPECT_EQ(read.plan + "\n", plan);
  EXPECT_EQ(read.source, code);
  const auto is_plan = format.is_plan(answer);
  const auto planned = std::ranges::count(is_plan, true);
  EXPECT_EQ(tokenizer.decode({answer.data(), static_cast<size_t>(planned)}), plan);
  EXPECT_TRUE(std::is_partitioned(is_plan.begin(), is_plan.end(), [](bool b) { return b; }));
}

TEST(AnswerFormat, TextEndsNoPrompt) {
  const Tokenizer tokenizer(tokenizer_text("trained"), "tokenizer.json");
  const AnswerFormat format(tokenizer);
  const Example example = format.example("a <|plan|> b", "p <|code|> q", "<|endoftext|> c");
  EXPECT_EQ(std::ranges::count(example.tokens, format.end()), 1);
  EXPECT_EQ(std::ranges::count(example.tokens, *tokenizer.find_added("<|plan|>")), 1);
  EXPECT_EQ(std::ranges::count(example.tokens, *tokenizer.find_added("<|code|>")), 1);
}

TEST(AnswerFormat, NeedsItsTokens) {
  EXPECT_THROW(AnswerFormat(Tokenizer(tokenizer_text("qwen3"), "tokenizer.json")), InputError);
}

}  // namespace
}  // namespace kw::train
