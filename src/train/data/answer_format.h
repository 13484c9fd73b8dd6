// How a task and its answer become tokens: the task's text, <|plan|>, the plan, <|code|>, the code,
// <|endoftext|>. A model is asked with all up to <|plan|>. Text never makes special tokens, so that
// a task's constants cannot end its own prompt. Borrows the tokenizer. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tokens/tokenizer.h"
#include "train/step/packing.h"

namespace kw {

inline const std::vector<std::string> kAnswerTokens = {"<|plan|>", "<|code|>", "<|endoftext|>"};

class AnswerFormat {
 public:
  // InputError where the tokenizer lacks one of the special tokens.
  explicit AnswerFormat(const Tokenizer& tokenizer);

  std::vector<TokenId> prompt(std::string_view task) const;
  Example example(std::string_view task, std::string_view plan, std::string_view code) const;
  // Which tokens of an answer are its plan: those up to <|code|>, with it.
  std::vector<bool> is_plan(std::span<const TokenId> answer) const;
  // As parse_answer() takes it apart.
  std::string text(std::span<const TokenId> answer) const;
  TokenId end() const { return end_; }

 private:
  const Tokenizer& tokenizer_;
  TokenId plan_, code_, end_;
};

}  // namespace kw
