#include "formats/tokens/special_tokens.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/json.h"
#include "formats/tokens/tokenizer.h"

namespace kw {
namespace {

// Of which the vectors beside it were made by Hugging Face's `tokenizers`, with all of its tokens.
const std::string kFile = KW_SOURCE_DIR "/tests/vectors/tokenizers/trained/tokenizer.json";

// That file without the last of its special tokens.
Json without(const std::vector<std::string>& tokens) {
  Json out = parse_json(read_file(kFile), "it");
  Json& added = out["added_tokens"];
  for (const std::string& token : tokens) {
    EXPECT_EQ(added.back().at("content"), token);
    added.erase(added.size() - 1);
  }
  return out;
}

TEST(SpecialTokens, AreNumberedAsTheFileHadThem) {
  const Tokenizer whole(read_file(kFile), "whole");
  const std::string json = without({"<|code|>", "<|plan|>"}).dump();
  const Tokenizer before(json, "before");
  ASSERT_FALSE(before.find_added("<|plan|>"));
  const std::string text =
      with_special_tokens(json, "it", {"<|plan|>", "<|code|>", "<|endoftext|>"}, 1 << 20);
  const Tokenizer after(text, "after");
  for (const char* token : {"<|plan|>", "<|code|>", "<|endoftext|>"}) {
    EXPECT_EQ(after.find_added(token), whole.find_added(token)) << token;
    EXPECT_TRUE(after.is_special(*after.find_added(token)));
  }
  EXPECT_EQ(after.size(), whole.size());
  const std::string said = "def f(x):\n    return x + 12 # é<|plan|><|im_end|>";
  EXPECT_EQ(after.encode(said), whole.encode(said));
  // There is nothing more to add.
  EXPECT_EQ(with_special_tokens(text, "it", {"<|plan|>", "<|code|>"}, 0), text);
}

TEST(SpecialTokens, AWordOfTheVocabularyKeepsItsNumber) {
  Json json = without({"<|code|>", "<|plan|>"});
  const Tokenizer before(json.dump(), "before");
  const std::string word = "return";
  ASSERT_TRUE(json["model"]["vocab"].contains(word));
  const Tokenizer after(with_special_tokens(json.dump(), "it", {word, "<|plan|>"}, 1 << 20),
                        "after");
  EXPECT_EQ(after.find_added(word), json["model"]["vocab"][word].get<TokenId>());
  EXPECT_EQ(after.find_added("<|plan|>"), before.size());
}

TEST(SpecialTokens, NeedRowsAndNumbersWithoutGaps) {
  const std::string json = without({"<|code|>", "<|plan|>"}).dump();
  const int64_t size = Tokenizer(json, "it").size();
  EXPECT_NO_THROW(with_special_tokens(json, "it", {"<|plan|>"}, size + 1));
  EXPECT_THROW(with_special_tokens(json, "it", {"<|plan|>", "<|code|>"}, size + 1), InputError);
  EXPECT_THROW(with_special_tokens("{}", "it", {"<|plan|>"}, size), InputError);
  // Qwen3's, of which the repository has a part of the words.
  const std::string part = KW_SOURCE_DIR "/tests/vectors/tokenizers/qwen3/tokenizer.json";
  EXPECT_THROW(with_special_tokens(read_file(part), "it", {"<|plan|>"}, 1 << 20), InputError);
}

}  // namespace
}  // namespace kw
