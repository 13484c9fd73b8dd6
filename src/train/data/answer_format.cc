#include "train/data/answer_format.h"

#include "formats/base/error.h"

namespace kw::train {
namespace {

TokenId special(const Tokenizer& tokenizer, const std::string& text) {
  const auto found = tokenizer.find_added(text);
  if (!found) throw InputError("the tokenizer has no " + text);
  return *found;
}

void append(std::vector<TokenId>& out, const std::vector<TokenId>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

AnswerFormat::AnswerFormat(const Tokenizer& tokenizer)
    : tokenizer_(tokenizer),
      plan_(special(tokenizer, kAnswerTokens[0])),
      code_(special(tokenizer, kAnswerTokens[1])),
      end_(special(tokenizer, kAnswerTokens[2])) {}

std::vector<TokenId> AnswerFormat::prompt(std::string_view task) const {
  std::vector<TokenId> out = tokenizer_.encode(task, Tokenizer::Specials::kText);
  out.push_back(plan_);
  return out;
}

Example AnswerFormat::example(std::string_view task, std::string_view plan,
                              std::string_view code) const {
  Example out;
  out.tokens = prompt(task);
  out.answer = out.tokens.size();
  append(out.tokens, tokenizer_.encode(plan, Tokenizer::Specials::kText));
  out.tokens.push_back(code_);
  append(out.tokens, tokenizer_.encode(code, Tokenizer::Specials::kText));
  out.tokens.push_back(end_);
  return out;
}

std::vector<bool> AnswerFormat::is_plan(std::span<const TokenId> answer) const {
  std::vector<bool> out(answer.size());
  for (size_t i = 0; i < answer.size(); ++i) {
    out[i] = true;
    if (answer[i] == code_) break;
  }
  return out;
}

std::string AnswerFormat::text(std::span<const TokenId> answer) const {
  return tokenizer_.decode(answer);
}

}  // namespace kw::train
