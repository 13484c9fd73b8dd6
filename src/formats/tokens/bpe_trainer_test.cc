// Compares training with a plain trainer written here, which counts all pairs again for each merge.
// What is trained reads and writes any text and keeps digits apart. It gives the same tokens as
// Hugging Face's tokenizers (scripts/make_bpe_vectors.py).
#include "formats/tokens/bpe_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/json.h"
#include "formats/tokens/byte_alphabet.h"

namespace kw {
namespace {

const std::string kTrained = KW_SOURCE_DIR "/tests/vectors/tokenizers/trained/";

const std::string kSource = R"(@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, x * 0.7071067811865476 + 1e-05, mask=mask)


kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024, num_warps=4)
	if x16 == 11024:  # 16, 32 and 128x64, float32x4
)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool has_digit(const std::string& text) { return std::any_of(text.begin(), text.end(), is_digit); }

// The merges, spelled, by the definition: count the pairs, join the most frequent one (the lowest
// numbers first) in all pieces from the left, again.
std::vector<std::string> plain_merges(const PieceCounts::Map& pieces, const BpeOptions& options) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), options.whole.begin(), options.whole.end());
  std::vector<std::pair<std::vector<int>, int64_t>> words;
  for (const auto& [piece, count] : pieces) {
    if (std::count(options.whole.begin(), options.whole.end(), piece)) continue;
    auto& [word, times] = words.emplace_back();
    for (const char c : piece) word.push_back(static_cast<unsigned char>(c));
    times = count;
  }
  std::vector<std::string> merges;
  while (static_cast<int>(tokens.size() + options.specials.size()) < options.size) {
    std::map<std::pair<int, int>, int64_t> counts;
    for (const auto& [word, times] : words) {
      for (size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += times;
    }
    std::pair<int, int> best;
    int64_t most = options.least_count - 1;
    for (const auto& [pair, count] : counts) {  // in order of their numbers
      const std::string &left = tokens[pair.first], &right = tokens[pair.second];
      if (has_digit(left + right)) continue;
      if (static_cast<int>(left.size() + right.size()) > options.longest) continue;
      if (count > most) most = count, best = pair;
    }
    if (most < options.least_count) break;
    const std::string& left = tokens[best.first];
    const std::string& right = tokens[best.second];
    merges.push_back(spelled(left) + " " + spelled(right));
    const int joined = static_cast<int>(tokens.size());
    EXPECT_FALSE(std::count(tokens.begin(), tokens.end(), left + right)) << "made twice";
    tokens.push_back(left + right);  // the last use of these two: it may move them
    for (auto& [word, times] : words) {
      std::vector<int> out;
      for (size_t i = 0; i < word.size(); ++i) {
        const bool here = i + 1 < word.size() && std::pair(word[i], word[i + 1]) == best;
        out.push_back(here ? joined : word[i]);
        i += here;
      }
      word = out;
    }
  }
  return merges;
}

void expect_as_plain(const PieceCounts& corpus, const BpeOptions& options) {
  const TrainedBpe trained = train_bpe(corpus, options);
  const Json file = parse_json(trained.json, "trained");
  const auto merges = file.at("model").at("merges").get<std::vector<std::string>>();
  ASSERT_EQ(merges, plain_merges(corpus.counts(), options));
  const auto size = file.at("model").at("vocab").size() + options.specials.size();
  EXPECT_EQ(static_cast<int>(size), trained.size);
  EXPECT_EQ(trained.fewer.empty(), trained.size == options.size);
}

BpeOptions options_of(int size) {
  BpeOptions out;
  out.size = size;
  return out;
}

TEST(BpeTrainer, JoinsWhatThePlainTrainerJoins) {
  for (const int size : {310, 350, 2000}) {
    const BpeOptions options = options_of(size);
    PieceCounts corpus(options);
    corpus.add(kSource);
    expect_as_plain(corpus, options);
  }
}

// Pieces of few letters: overlapping pairs ("aaaa") and ties.
TEST(BpeTrainer, JoinsWhatThePlainTrainerJoinsOfRandomPieces) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 150; ++round) {
    BpeOptions options = options_of(0);
    options.size = 256 + static_cast<int>(options.whole.size() + options.specials.size()) +
                   static_cast<int>(random() % 60);
    options.least_count = 1 + static_cast<int64_t>(random() % 3);
    options.longest = 2 + static_cast<int>(random() % 12);
    PieceCounts corpus(options);
    const std::string letters = round % 2 ? "ab" : "abc1_\xc3\xa9";
    for (int i = 0; i < 12; ++i) {
      std::string piece;
      for (size_t length = 1 + random() % 14; piece.size() < length;) {
        piece += letters[random() % letters.size()];
      }
      corpus.add_piece(piece, 1 + static_cast<int64_t>(random() % 4));
    }
    expect_as_plain(corpus, options);
  }
}

struct Trained {
  BpeOptions options = options_of(340);
  TrainedBpe bpe;
  Tokenizer tokenizer;

  Trained() : bpe(train()), tokenizer(bpe.json, "trained") {}
  TrainedBpe train() const {
    PieceCounts corpus(options);
    corpus.add(kSource);
    return train_bpe(corpus, options);
  }
};
const Trained& trained() {
  static const Trained made;
  return made;
}

std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> out;
  for (const TokenId id : trained().tokenizer.encode(text)) {
    out.emplace_back(trained().tokenizer.bytes(id));
  }
  return out;
}

TEST(BpeTrainer, HasAsManyTokensAsAskedForOrSaysWhy) {
  EXPECT_EQ(trained().bpe.size, 340);
  EXPECT_EQ(trained().tokenizer.size(), 340);
  EXPECT_EQ(trained().bpe.fewer, "");
  const BpeOptions options = options_of(3000);
  PieceCounts corpus(options);
  corpus.add(kSource);
  const TrainedBpe few = train_bpe(corpus, options);
  EXPECT_LT(few.size, 3000);
  EXPECT_EQ(few.fewer, "no further pair occurs 2 times");
  const TrainedBpe none = train_bpe(PieceCounts(options), options);
  EXPECT_EQ(none.size, 256 + static_cast<int>(options.whole.size() + options.specials.size()));
}

TEST(BpeTrainer, ByteTokensComeFirstAndSpecialOnesLast) {
  const Tokenizer& tokenizer = trained().tokenizer;
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(tokenizer.bytes(byte), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_EQ(tokenizer.bytes(256), "16");
  EXPECT_EQ(tokenizer.find_added("<|endoftext|>"), 335);
  EXPECT_EQ(tokenizer.find_added("<|code|>"), 339);
  EXPECT_TRUE(tokenizer.is_special(339));
  EXPECT_EQ(tokenizer.encode("<|plan|>x"), (std::vector<TokenId>{338, 'x'}));
}

TEST(BpeTrainer, OnlyListedTokensHoldTwoDigitsOrADigitAndMore) {
  const auto& whole = trained().options.whole;
  for (TokenId id = 0; id < trained().tokenizer.size(); ++id) {
    const std::string token(trained().tokenizer.bytes(id));
    if (token.size() < 2 || !has_digit(token)) continue;
    EXPECT_TRUE(std::count(whole.begin(), whole.end(), token)) << token;
  }
}

using Words = std::vector<std::string>;

TEST(BpeTrainer, ListedNumbersAreOneTokenWhereTheyStandAlone) {
  EXPECT_EQ(tokens_of("1024"), Words{"1024"});
  EXPECT_EQ(tokens_of("11024"), (Words{"1", "1", "0", "2", "4"}));
  EXPECT_EQ(tokens_of("10240"), (Words{"1", "0", "2", "4", "0"}));
  EXPECT_EQ(tokens_of("x16"), (Words{"x", "16"}));
  EXPECT_EQ(tokens_of("x16y"), (Words{"x", "16", "y"}));
  EXPECT_EQ(tokens_of("128x64"), (Words{"128", "x", "64"}));
  EXPECT_EQ(tokens_of("17"), (Words{"1", "7"}));
  EXPECT_EQ(tokens_of("float32"), Words{"float32"});
  EXPECT_EQ(tokens_of("(int64)"), (Words{"(", "int64", ")"}));
  // Part of a longer word: no type. Its digits are still a listed number.
  const Words longer = tokens_of("bfloat32"), part = tokens_of("float32x");
  for (const Words& words : {longer, part}) {
    EXPECT_FALSE(std::count(words.begin(), words.end(), "float32"));
    EXPECT_TRUE(std::count(words.begin(), words.end(), "32"));
  }
  const Words assigned = tokens_of("BLOCK = 1024\n");
  ASSERT_GE(assigned.size(), 3u);
  EXPECT_EQ(Words(assigned.end() - 3, assigned.end()), (Words{" ", "1024", "\n"}));
}

TEST(BpeTrainer, IndentationIsOneToken) {
  EXPECT_EQ(tokens_of("\n    "), (Words{"\n", "    "}));
  const Words line = tokens_of("    x = tl.load");
  ASSERT_FALSE(line.empty());
  EXPECT_EQ(line[0], "    ");
}

TEST(BpeTrainer, WhatIsEncodedIsDecoded) {
  std::mt19937_64 random(11);
  const std::vector<std::string> parts = {"a",      "_",      " ",       "  ", "\n",   "\r\n",
                                          "\t",     "1024",   "7",       "32", "é",    "中",
                                          "🙂",   "\u0301", "float32", "(",  "\0",   "'",
                                          "\u00a0", "²",      "٣",       "<|", "\x7f", "x_ptr"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t n = random() % 30; n > 0; --n) text += parts[random() % parts.size()];
    EXPECT_EQ(trained().tokenizer.decode(trained().tokenizer.encode(text)), text);
  }
  for (int round = 0; round < 500; ++round) {  // of any characters
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) {
      const unsigned code = random() % 4 ? random() % 0x80 : 0xa0 + random() % 0xd000;
      if (code < 0x80) {
        text += static_cast<char>(code);
      } else if (code < 0x800) {
        text += static_cast<char>(0xc0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 0x3f));
      } else {
        text += static_cast<char>(0xe0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        text += static_cast<char>(0x80 | (code & 0x3f));
      }
    }
    EXPECT_EQ(trained().tokenizer.decode(trained().tokenizer.encode(text)), text);
  }
  EXPECT_EQ(trained().tokenizer.decode(trained().tokenizer.encode(kSource)), kSource);
}

TEST(BpeTrainer, DoesNotDependOnTheOrderOfTexts) {
  const BpeOptions options = options_of(400);
  PieceCounts forwards(options), backwards(options);
  const std::vector<std::string> texts = {kSource, "tl.load(a)\n", "tl.store(b)\n", "ab ab ba\n"};
  for (const auto& text : texts) forwards.add(text);
  std::for_each(texts.rbegin(), texts.rend(), [&](const auto& text) { backwards.add(text); });
  EXPECT_EQ(train_bpe(forwards, options).json, train_bpe(backwards, options).json);
}

TEST(BpeTrainer, SpecialTokensOfTheCorpusAreNotCounted) {
  const BpeOptions options = options_of(400);
  PieceCounts with(options), without(options);
  with.add("a b<|endoftext|>c d");
  without.add("a b");
  without.add("c d");
  EXPECT_EQ(with.counts(), without.counts());
}

TEST(BpeTrainer, TellsHowFarItIs) {
  const BpeOptions options = options_of(520);
  PieceCounts corpus(options);
  corpus.add(kSource);
  std::vector<std::pair<int, int>> told;
  const TrainedBpe made =
      train_bpe(corpus, options, [&](int done, int all) { told.emplace_back(done, all); });
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), std::pair(made.size - 5, 515));
}

// A piece of a million letters would take forever were each merge to read it.
TEST(BpeTrainer, LongPiecesTakeNoSquareOfTime) {
  const BpeOptions options = options_of(2000);
  PieceCounts corpus(options);
  std::mt19937_64 random(5);
  std::string piece;
  for (int i = 0; i < 1000000; ++i) piece += static_cast<char>('a' + random() % 26);
  corpus.add_piece(piece, 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(train_bpe(corpus, options).size, 2000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

// What tokenizers gives for tokenizer.json, which is what comes of corpus.txt.
TEST(BpeTrainer, GivesTheTokensOfTheGoldenVectors) {
  const Tokenizer tokenizer(read_file(kTrained + "tokenizer.json"), "tokenizer.json");
  const Json vectors = parse_json(read_file(kTrained + "vectors.json"), "vectors.json");
  ASSERT_GE(vectors.size(), 300u);
  for (const Json& vector : vectors) {
    const std::string text = vector.at("text");
    const auto ids = tokenizer.encode(text);
    EXPECT_EQ(ids, vector.at("ids").get<std::vector<TokenId>>()) << text;
    EXPECT_EQ(tokenizer.decode(ids, Tokenizer::Specials::kTokens), text);
  }
}

TEST(BpeTrainer, TheSameCorpusGivesTheSameFile) {
  const BpeOptions options = options_of(1024);
  PieceCounts corpus(options);
  corpus.add(read_file(kTrained + "corpus.txt"));
  EXPECT_EQ(train_bpe(corpus, options).json, read_file(kTrained + "tokenizer.json"));
}

TEST(BpeTrainer, OptionsThatMakeNoTokenizerAreRefused) {
  const auto refused = [](auto change) {
    BpeOptions options;
    change(options);
    EXPECT_THROW(PieceCounts{options}, InputError);
    const PieceCounts nothing{BpeOptions()};
    EXPECT_THROW(train_bpe(nothing, options), InputError);
  };
  refused([](BpeOptions& o) { o.size = 256; });
  refused([](BpeOptions& o) { o.size = 1 << 30; });
  refused([](BpeOptions& o) { o.whole = {"7"}; });
  refused([](BpeOptions& o) { o.whole = {"abc"}; });
  refused([](BpeOptions& o) { o.whole = {"1.5"}; });
  refused([](BpeOptions& o) { o.whole = {"16", "16"}; });
  refused([](BpeOptions& o) { o.specials = {""}; });
  refused([](BpeOptions& o) { o.specials = {"16"}; });
  refused([](BpeOptions& o) { o.specials = {"\xff\xff"}; });
  refused([](BpeOptions& o) { o.least_count = 0; });
  refused([](BpeOptions& o) { o.longest = 1; });
  refused([](BpeOptions& o) { o.pattern = "\xff"; });
  BpeOptions broken;
  broken.pattern = "(";
  EXPECT_THROW(PieceCounts{broken}, InputError);
  PieceCounts corpus{BpeOptions()};
  EXPECT_THROW(corpus.add("\xff"), InputError);
  EXPECT_THROW(corpus.add_piece("a", 0), InputError);
  corpus.add_piece("a", int64_t{1} << 61);
  EXPECT_THROW(corpus.add_piece("a", int64_t{1} << 62), InputError);
}

TEST(BpeTrainer, NothingListedAndAnotherPattern) {
  BpeOptions options;
  options.size = 270;
  options.whole = {};
  options.specials = {};
  options.pattern = R"(\S+)";
  PieceCounts corpus(options);
  corpus.add("a1a1 a1a1 abab abab");
  const TrainedBpe made = train_bpe(corpus, options);
  const Tokenizer tokenizer(made.json, "made");
  EXPECT_EQ(made.size, 258);  // ab, abab: digits stay alone whatever the pattern
  EXPECT_EQ(tokenizer.encode("abab a1"), (std::vector<TokenId>{257, ' ', 'a', '1'}));
}

TEST(BpeTrainer, SpecialTokensThatTheCorpusMakesAreRefused) {
  BpeOptions options;
  options.specials = {"abab"};
  PieceCounts corpus(options);
  corpus.add_piece("abab", 5);  // pieces of a text never hold one
  EXPECT_THROW(train_bpe(corpus, options), InputError);
}

}  // namespace
}  // namespace kw
