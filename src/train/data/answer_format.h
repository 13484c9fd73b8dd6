// How a task and its answer become tokens: the task's text, <|plan|>, the plan, <|code|>, the code,
// <|endoftext|>. The prompt is all up to <|plan|>. Text never becomes special tokens, so that a
// task's constants cannot end its prompt. Borrows the tokenizer. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokens/tokenizer.h"
#include "train/step/packing.h"

namespace kw::train {

inline const std::vector<std::string> kAnswerTokens = {"<|plan|>", "<|code|>", "<|endoftext|>"};

class AnswerFormat {
 public:
  // Throws InputError if the tokenizer lacks one of the special tokens.
  explicit AnswerFormat(const Tokenizer& tokenizer);

  std::vector<TokenId> prompt(std::string_view task) const;
  Example example(std::string_view task, std::string_view plan, std::string_view code) const;
  // Returns which tokens of an answer are its plan: those up to <|code|>, including it.
  std::vector<bool> is_plan(std::span<const TokenId> answer) const;
  // Returns the text of an answer, as parse_answer() reads it.
  std::string text(std::span<const TokenId> answer) const;
  TokenId end() const { return end_; }

 private:
  const Tokenizer& tokenizer_;
  TokenId plan_, code_, end_;
};

}  // namespace kw::train
