#include "formats/special_tokens.h"

#include <gtest/gtest.h>

#include "formats/error.h"
#include "formats/json.h"
#include "formats/read_file.h"
#include "formats/tokenizer.h"

namespace kw {
namespace {

// Qwen3's, of which the vectors in its folder were made by `tokenizers`.
const std::string kFolder = KW_SOURCE_DIR "/tests/vectors/tokenizers/qwen3/";

TEST(SpecialTokens, AreAddedBehindTheLastOne) {
  const std::string json = read_file(kFolder + "tokenizer.json");
  const Tokenizer before(json, "before");
  const std::string text =
      with_special_tokens(json, "it", {"<|plan|>", "<|code|>", "<|endoftext|>"}, 1 << 20);
  const Tokenizer after(text, "after");
  EXPECT_EQ(after.find_added("<|endoftext|>"), before.find_added("<|endoftext|>"));
  EXPECT_EQ(after.find_added("<|plan|>"), before.size());
  EXPECT_EQ(after.find_added("<|code|>"), before.size() + 1);
  EXPECT_EQ(after.size(), before.size() + 2);
  EXPECT_TRUE(after.is_special(before.size()));
  const std::string said = "def f(x):\n    return x + 12 # é <|im_end|>";
  EXPECT_EQ(after.encode(said), before.encode(said));
  EXPECT_EQ(after.encode("a<|plan|>b").size(), 3u);
  // There is nothing more to add.
  EXPECT_EQ(with_special_tokens(text, "it", {"<|plan|>", "<|code|>"}, 0), text);
}

TEST(SpecialTokens, NeedRows) {
  const std::string json = read_file(kFolder + "tokenizer.json");
  const int64_t size = Tokenizer(json, "it").size();
  EXPECT_NO_THROW(with_special_tokens(json, "it", {"<|plan|>"}, size + 1));
  EXPECT_THROW(with_special_tokens(json, "it", {"<|plan|>", "<|code|>"}, size + 1), InputError);
  EXPECT_THROW(with_special_tokens("{}", "it", {"<|plan|>"}, size), InputError);
}

}  // namespace
}  // namespace kw
