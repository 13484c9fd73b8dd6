#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "formats/base/sha256.h"
#include "formats/frame.h"
#include "formats/model_constants.h"

namespace kw {
namespace {

TEST(OnThreads, EachPieceOnceAndTheFirstFaultIsThrownOn) {
  for (const int threads : {0, 1, 3, 100}) {
    std::vector<int> times(50);
    on_threads(threads, times.size(), [&](size_t i) { ++times[i]; });
    EXPECT_EQ(times, std::vector<int>(50, 1)) << threads;
    on_threads(threads, 0, [](size_t) { FAIL(); });
    std::atomic<int> done = 0;
    const auto fails_once = [&](size_t i) {
      if (i == 20) throw InputError("the twentieth");
      ++done;
    };
    EXPECT_THROW(on_threads(threads, 50, fails_once), InputError) << threads;
    EXPECT_GE(done, 20) << threads;
  }
}

// FIPS 180-4 example values and the lengths around the padding boundary (from `sha256sum`).
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

Frame random_frame(std::mt19937& rng) {
  Frame frame;
  frame.json = {{"kind", "test"}, {"n", static_cast<int>(rng() % 1000)}};
  for (unsigned i = rng() % 4; i > 0; --i) {
    std::string blob(rng() % 300, '\0');
    for (char& c : blob) c = static_cast<char>(rng());
    frame.blobs.push_back(blob);
  }
  return frame;
}

TEST(Frame, SurvivesAnyFragmentation) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Frame> sent;
    std::string bytes;
    for (unsigned i = rng() % 4; i > 0; --i) {
      sent.push_back(random_frame(rng));
      bytes += encode_frame(sent.back());
    }
    FrameParser parser;
    std::vector<Frame> got;
    for (size_t at = 0; at < bytes.size();) {
      const size_t n = std::min<size_t>(bytes.size() - at, 1 + rng() % 97);
      parser.feed(std::string_view(bytes).substr(at, n));
      at += n;
      while (auto frame = parser.next()) got.push_back(*frame);
    }
    ASSERT_EQ(got.size(), sent.size());
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].json, sent[i].json);
      EXPECT_EQ(got[i].blobs, sent[i].blobs);
    }
  }
}

// Whatever is flipped in a frame, the parser answers with a frame, a wait or InputError.
TEST(Frame, DamageNeverCrashes) {
  std::mt19937 rng(2);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = encode_frame(random_frame(rng));
    for (int flips = 1 + rng() % 3; flips > 0; --flips)
      bytes[rng() % bytes.size()] ^= 1 << rng() % 8;
    FrameParser parser(FrameLimits{1 << 20, 1 << 16, 16});
    parser.feed(bytes);
    try {
      parser.next();
    } catch (const InputError&) {
    }
  }
}

TEST(Frame, LimitsAreKeptBeforeTheBytesArrive) {
  Frame frame;
  frame.json = Json::object();
  frame.blobs.push_back(std::string(5000, 'x'));
  const std::string bytes = encode_frame(frame);
  FrameParser parser(FrameLimits{4096, 4096, 16});
  parser.feed(std::string_view(bytes).substr(0, 40));  // header and blob table only
  EXPECT_THROW(parser.next(), InputError);
}

// One byte at a time, as a hostile sender may: the table of blobs is read once, not at every byte.
TEST(Frame, ManyBlobsInManyPiecesAreQuick) {
  Frame frame;
  frame.json = Json::object();
  frame.blobs.assign(65'000, "");
  frame.blobs.push_back(std::string(200'000, 'x'));
  const std::string bytes = encode_frame(frame);
  FrameParser parser;
  const auto start = std::chrono::steady_clock::now();
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    parser.feed(std::string_view(bytes).substr(i, 1));
    ASSERT_FALSE(parser.next());
  }
  parser.feed(std::string_view(bytes).substr(bytes.size() - 1));
  EXPECT_EQ(parser.next()->blobs, frame.blobs);
  // Read at every byte of the last blob it would be 10^10 sizes: 6 s. This takes some 10 ms.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(Json, DeepNestingIsRefused) {
  EXPECT_THROW(parse_json(std::string(100000, '['), "doc"), InputError);
  EXPECT_NO_THROW(parse_json("[[[]]]", "doc"));
  EXPECT_NO_THROW(parse_json("\"" + std::string(1000, '[') + "\"", "doc"));
}

TEST(Json, NumbersBeyondDoublesAreRefused) {
  EXPECT_THROW(parse_json("[1e999]", "doc"), InputError);
  EXPECT_THROW(parse_json("-" + std::string(400, '9'), "doc"), InputError);
  EXPECT_EQ(parse_json("[1e308]", "doc")[0].get<double>(), 1e308);
}

// A reader's path must not cost more than the document: here 200 KB of key over 100,000 elements
// would be 20 GB of text.
TEST(Json, LongKeysAreCheapToReadUnder) {
  const std::string key(200'000, 'k');
  Json json;
  json[key] = std::vector<int>(100'000, 7);
  for (const auto& [name, reader] : JsonReader(json, "").members()) {
    EXPECT_EQ(name, key);
    EXPECT_EQ(reader.items().size(), 100'000u);
    EXPECT_EQ(reader.integers(), std::vector<int64_t>(100'000, 7));
    try {
      reader.at(3).string();
      FAIL();
    } catch (const InputError& error) {
      EXPECT_LT(std::string(error.what()).size(), 1000u);
      EXPECT_NE(std::string(error.what()).find("...[3]: expected a string"), std::string::npos);
    }
  }
}

TEST(Json, KnowsUtf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("caf\xC3\xA9 \xF0\x9F\x99\x82"));
  EXPECT_FALSE(is_utf8("caf\xE9"));
  EXPECT_FALSE(is_utf8("\xC0\xAF"));      // overlong
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));  // a surrogate
}

TEST(Json, ComplaintsNameThePlace) {
  const Json json = parse_json(R"({"a": [1, {"b": "x"}]})", "doc");
  try {
    JsonReader(json, "").at("a").at(1).at("b").integer();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), "a[1].b: expected an integer, found string");
  }
  EXPECT_THROW(JsonReader(json, "").at("c"), InputError);
  EXPECT_THROW(JsonReader(json, "").at("a").at(2), InputError);
}

TEST(ModelConstants, AreLinesOfTheirOwn) {
  std::string text =
      "import torch\n"
      "N = 4\n"
      "WIDTH=8_192  # columns\n"
      "AREA = 16 * 3 *2\n"
      "SCALE = 0.5\n"
      "    inner = 3\n"
      "HUGE = 99999999999999999999\n"
      "N = 5\n"
      "a = b = 7\n";
  std::vector<std::pair<std::string, int64_t>> found;
  for (const ModelConstant& constant : model_constants(text)) {
    found.emplace_back(constant.name, constant.value);
  }
  EXPECT_EQ(found, (std::vector<std::pair<std::string, int64_t>>{
                       {"N", 5}, {"WIDTH", 8192}, {"AREA", 96}}));
  EXPECT_FALSE(set_model_constant(text, {"SCALE", 2}));
  EXPECT_FALSE(set_model_constant(text, {"inner", 2}));
  EXPECT_TRUE(set_model_constant(text, {"N", 9}));
  EXPECT_TRUE(set_model_constant(text, {"AREA", -1}));
  EXPECT_EQ(text,
            "import torch\nN = 9\nWIDTH=8_192  # columns\nAREA = -1\nSCALE = 0.5\n    inner = 3\n"
            "HUGE = 99999999999999999999\nN = 9\na = b = 7\n");
  EXPECT_TRUE(model_constants("").empty());
  // Not in strings of several lines.
  std::string quoted = R"(x = '"'
"""Sizes:
N = 512
'''
"""
N = 4  # """
M = 2
)";
  ASSERT_EQ(model_constants(quoted).size(), 2u);
  EXPECT_EQ(model_constants(quoted)[0].value, 4);
  EXPECT_TRUE(set_model_constant(quoted, {"N", 7}));
  EXPECT_NE(quoted.find("N = 512"), std::string::npos);
  std::string line = "X = 1" + std::string(100'000, ' ') + "\n";  // not by recursion
  EXPECT_TRUE(model_constants(line).empty());
}

}  // namespace
}  // namespace kw
