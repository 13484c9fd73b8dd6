#include "policy/chat/chat_stream.h"

#include <gtest/gtest.h>

#include <random>

namespace kw {
namespace {

std::vector<std::string> events(const std::string& text, size_t step) {
  SseReader reader;
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size(); at += step) {
    const bool more =
        reader.feed(std::string_view(text).substr(at, step), [&](const std::string& e) {
          out.push_back(e);
          return true;
        });
    if (!more) break;
  }
  return out;
}

TEST(SseReader, GivesTheDataOfEachEvent) {
  const std::string text =
      ": a comment\n\ndata: one\n\nevent: x\nid: 3\ndata:two\ndata: lines\r\n\r\ndata\n\n"
      "data: three\r\rdata:  four\n\ndata: never ended\n";
  const std::vector<std::string> expected = {"one", "two\nlines", "three", " four"};
  for (size_t step = 1; step <= text.size(); ++step)
    EXPECT_EQ(events(text, step), expected) << step;
}

TEST(SseReader, LinesAndEventsAreBounded) {
  for (const std::string& part :
       {std::string("x"), std::string("data: y\n"), std::string("data:z")}) {
    SseReader reader;
    std::string piece;
    while (piece.size() < 65536) piece += part;
    bool more = true;
    for (int i = 0; i < 100 && more; ++i) {
      more = reader.feed(piece, [](const std::string&) { return true; });
    }
    EXPECT_TRUE(reader.too_long());
    EXPECT_FALSE(more);
  }
}

std::string chunk(const std::string& content, const std::string& finish = "") {
  const Json json = {{"choices",
                      {{{"delta", {{"content", content}}},
                        {"finish_reason", finish.empty() ? Json() : Json(finish)}}}}};
  return "data: " + json.dump() + "\n\n";
}

const std::string kUsage =
    "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 7, \"completion_tokens\": 9}}\n\n";

TEST(ChatReader, PutsAStreamTogether) {
  const std::string text = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n" +
                           chunk("Hel") + chunk("lo é") + chunk("", "stop") + kUsage +
                           "data: [DONE]\n\n";
  for (size_t step = 1; step <= text.size(); ++step) {
    ChatReader reader(true);
    for (size_t at = 0; at < text.size(); at += step) {
      reader.feed(std::string_view(text).substr(at, step));
    }
    EXPECT_TRUE(reader.finish(false));
    EXPECT_EQ(reader.reply().fault, "");
    EXPECT_EQ(reader.reply().text, "Hello é");
    EXPECT_EQ(reader.reply().finish_reason, "stop");
    EXPECT_EQ(reader.reply().prompt_tokens, 7);
    EXPECT_EQ(reader.reply().completion_tokens, 9);
  }
}

TEST(ChatReader, AStreamThatBreaksOffIsNotWhole) {
  ChatReader reader(true);
  reader.feed(chunk("Hel") + chunk("lo"));
  EXPECT_FALSE(reader.finish(true));
  ChatReader ended(true);  // what follows the reason to end is counters
  ended.feed(chunk("Hello", "stop"));
  EXPECT_TRUE(ended.finish(true));
  ChatReader object(false);
  object.feed("{\"choices\": [");
  EXPECT_FALSE(object.finish(true));
  EXPECT_EQ(object.reply().fault, "");
}

TEST(ChatReader, ReadsOneObject) {
  ChatReader reader(false);
  reader.feed("{\"choices\": [{\"message\": {\"content\": \"Hello\"}, \"finish_reason\":");
  reader.feed(" \"length\"}], \"usage\": {\"prompt_tokens\": -3, \"completion_tokens\": 1e99}}");
  EXPECT_TRUE(reader.finish(false));
  EXPECT_EQ(reader.reply().fault, "");
  EXPECT_EQ(reader.reply().text, "Hello");
  EXPECT_EQ(reader.reply().finish_reason, "length");
  EXPECT_EQ(reader.reply().prompt_tokens, 0);
  EXPECT_EQ(reader.reply().completion_tokens, 0);
}

TEST(ChatReader, HalvesOfCharactersLoseNoAnswer) {
  const std::pair<const char*, const char*> rows[] = {
      {R"(\ud83d\ude00)", "\U0001F600"},   {R"(a\ud83db)", "a\uFFFDb"},
      {R"(\uDE00\uD83D)", "\uFFFD\uFFFD"}, {R"(\ud83d\n\u0041)", "\uFFFD\nA"},
      {R"(\\ud83d)", "\\ud83d"},           {R"(\ud83d\ud83d\ude00)", "\uFFFD\U0001F600"}};
  for (const auto& [escaped, text] : rows) {
    ChatReader reader(false);
    reader.feed(R"({"choices": [{"message": {"content": ")" + std::string(escaped) +
                R"("}, "finish_reason": "stop"}]})");
    EXPECT_TRUE(reader.finish(false));
    EXPECT_EQ(reader.reply().fault, "") << escaped;
    EXPECT_EQ(reader.reply().text, text) << escaped;
  }
}

TEST(ChatReader, DocumentsOfAnyKindAreAtMostFaults) {
  const Json parts[] = {
      nullptr,         1, -1.5, "x", Json::array(), Json::object(), Json::array({1}), true,
      {{"content", 3}}};
  for (const char* key : {"choices", "usage", "error", "other"}) {
    for (const Json& part : parts) {
      for (const Json& document :
           {Json{{key, part}},
            Json{{"choices", Json::array({{{"delta", part}, {"message", part}}})}},
            Json{{"choices", Json::array({part})}}, part}) {
        for (bool streams : {true, false}) {
          ChatReader reader(streams);
          reader.feed(streams ? "data: " + document.dump() + "\n\n" : document.dump());
          reader.finish(false);
          EXPECT_EQ(reader.reply().fault.find('\n'), std::string::npos);
        }
      }
    }
  }
}

TEST(ChatReader, IsBounded) {
  ChatReader comments(true);  // events that say nothing, for ever
  std::string piece;
  while (piece.size() < 65536) piece += ": still here\n\n";
  size_t fed = 0;
  while (comments.feed(piece)) ASSERT_LT(fed += piece.size(), 2 * ChatReader::kLongestReply);
  EXPECT_NE(comments.reply().fault.find("too long"), std::string::npos);
  ChatReader object(false);
  fed = 0;
  while (object.feed(piece)) ASSERT_LT(fed += piece.size(), 2 * ChatReader::kLongestReply);
  EXPECT_NE(object.reply().fault.find("too long"), std::string::npos);
}

TEST(ChatReader, StandsAnything) {
  std::mt19937 random(5);
  const std::string good = chunk("Hel") + chunk("lo", "stop") + kUsage + "data: [DONE]\n\n";
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (int i = std::uniform_int_distribution<int>(1, 4)(random); i > 0; --i) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    ChatReader reader(round % 2);
    reader.feed(text);
    reader.finish(round % 3);
    EXPECT_TRUE(is_utf8(reader.reply().text));
    EXPECT_TRUE(is_utf8(reader.reply().finish_reason));
  }
}

}  // namespace
}  // namespace kw
