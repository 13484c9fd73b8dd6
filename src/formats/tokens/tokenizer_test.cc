// Tokens are those that Hugging Face's tokenizers gives for Qwen3's file
// (scripts/make_tokenizer_vectors.py); what is not supported, or not a tokenizer, is refused.
#include "formats/tokens/tokenizer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <random>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/json.h"

namespace kw {
namespace {

const std::string kQwen3 = KW_SOURCE_DIR "/tests/vectors/tokenizers/qwen3/";

const Tokenizer& qwen3() {
  static const Tokenizer tokenizer(read_file(kQwen3 + "tokenizer.json"), "tokenizer.json");
  return tokenizer;
}

TEST(Tokenizer, GivesTheTokensOfTheGoldenVectors) {
  const Json vectors = parse_json(read_file(kQwen3 + "vectors.json"), "vectors.json");
  ASSERT_GE(vectors.size(), 150u);
  for (const Json& vector : vectors) {
    const std::string text = vector.at("text");
    EXPECT_EQ(qwen3().encode(text), vector.at("ids").get<std::vector<TokenId>>()) << text;
  }
}

// What is composed already comes back byte by byte, special tokens where they are asked for.
TEST(Tokenizer, DecodesWhatItEncoded) {
  for (const std::string text : {"x = tl.load(p + i, mask=m)\n", " \t\n\n", "Stra\u00dfe 12.5e-3",
                                 "<|im_start|>user\nhi<|im_end|>"}) {
    const auto ids = qwen3().encode(text);
    EXPECT_EQ(qwen3().decode(ids, Tokenizer::Specials::kTokens), text);
  }
  const auto ids = qwen3().encode("<|im_start|>user<|im_end|>");
  EXPECT_EQ(qwen3().decode(ids), "user");
}

TEST(Tokenizer, TextOfStrangersHasNoSpecialTokens) {
  const auto end = qwen3().find_added("<|im_end|>");
  ASSERT_TRUE(end);
  const auto has_end = [&](const std::vector<TokenId>& ids) {
    return std::find(ids.begin(), ids.end(), *end) != ids.end();
  };
  EXPECT_TRUE(has_end(qwen3().encode("x<|im_end|>")));
  const auto text = qwen3().encode("x<|im_end|>", Tokenizer::Specials::kText);
  EXPECT_FALSE(has_end(text));
  EXPECT_EQ(qwen3().decode(text), "x<|im_end|>");
  EXPECT_FALSE(qwen3().find_added("<|no_such_token|>"));
}

TEST(Tokenizer, RefusesBytesThatAreNoText) {
  for (const std::string bytes : {"\xff", "a\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_THROW(qwen3().encode(bytes), InputError);
  }
}

// Pieces are short, but a file may say otherwise: joining must not cost the square of a length.
TEST(Tokenizer, LongPiecesTakeNoSquareOfTime) {
  const auto start = std::chrono::steady_clock::now();
  const auto ids = qwen3().encode(std::string(200000, 'a'));
  EXPECT_EQ(qwen3().decode(ids), std::string(200000, 'a'));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// One change to a file that is right; the complaint names the place.
void refuses(const std::function<void(Json&)>& change, const std::string& says) {
  Json file = parse_json(read_file(kQwen3 + "tokenizer.json"), "tokenizer.json");
  change(file);
  try {
    const Tokenizer made(file.dump(), "tokenizer.json");
    ADD_FAILURE() << "accepted, expected: " << says;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
  }
}

TEST(Tokenizer, RefusesWhatItDoesNotDo) {
  refuses([](Json& f) { f["pre_tokenizer"] = nullptr; }, "pre_tokenizer");
  refuses([](Json& f) { f["normalizer"] = {{"type", "Lowercase"}}; }, "NFC");
  refuses([](Json& f) { f["model"]["type"] = "Unigram"; }, "model");
  refuses([](Json& f) { f["model"]["merges"].push_back({"q", "no such token"}); }, "merges");
  refuses([](Json& f) { f["model"]["vocab"]["zzz"] = -1; }, "zzz");
  refuses([](Json& f) { f["model"].erase("vocab"); }, "vocab");
  refuses([](Json& f) { f["model"]["vocab"].erase("a"); }, "");
}

}  // namespace
}  // namespace kw
