#include "policy/chat/chat_request.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"
#include "formats/json.h"
#include "policy/chat/chat_stream.h"

namespace kw {
namespace {

std::string with(const std::string& more) {
  return R"({"messages": [{"role": "user", "content": "def f"}])" + more + "}";
}

TEST(ChatRequest, HasDefaults) {
  const ChatRequest found = parse_chat_request(with(R"(, "top_p": null, "seed": null)"));
  EXPECT_EQ(found.text, "def f");
  EXPECT_EQ(found.temperature, 1);
  EXPECT_EQ(found.top_p, 1);
  EXPECT_EQ(found.max_tokens, 0);
  EXPECT_FALSE(found.seed);
  EXPECT_FALSE(found.stream);
}

TEST(ChatRequest, IsReadWhole) {
  const ChatRequest found = parse_chat_request(
      with(R"(, "model": "m", "n": 1, "temperature": 0.25, "top_p": 0.5, "max_tokens": 7,
              "seed": 11, "stream": true, "stream_options": {"include_usage": true})"));
  EXPECT_EQ(found.temperature, 0.25);
  EXPECT_EQ(found.top_p, 0.5);
  EXPECT_EQ(found.max_tokens, 7);
  EXPECT_EQ(found.seed, 11u);
  EXPECT_TRUE(found.stream);
}

TEST(ChatRequest, NoShareLeavesTheLikeliest) {
  const double share = parse_chat_request(with(R"(, "top_p": 0)")).top_p;
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 1e-3);
}

TEST(ChatRequest, RefusesTheRest) {
  const std::string bad[] = {
      "",
      "{",
      "[]",
      "{}",
      "null",
      "\"\xff\"",
      R"({"messages": {}})",
      R"({"messages": []})",
      R"({"messages": ["x"]})",
      R"({"messages": [{"role": "system", "content": "x"}]})",
      R"({"messages": [{"role": "user", "content": ["x"]}]})",
      R"({"messages": [{"role": "user"}]})",
      R"({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": "x"}]})",
      with(R"(, "n": 2)"),
      with(R"(, "temperature": -1)"),
      with(R"(, "temperature": "hot")"),
      with(R"(, "temperature": 1e999)"),
      with(R"(, "top_p": -0.1)"),
      with(R"(, "top_p": 1.01)"),
      with(R"(, "max_tokens": 0)"),
      with(R"(, "max_tokens": 1.5)"),
      with(R"(, "max_tokens": 10000000000)"),
      with(R"(, "seed": 1.5)"),
      with(R"(, "seed": 18446744073709551616)"),
      with(R"(, "stream": 1)"),
      std::string(100000, '['),
  };
  for (const std::string& text : bad) {
    EXPECT_THROW(parse_chat_request(text), InputError) << text.substr(0, 80);
  }
}

TEST(ChatCompletion, IsReadByTheClient) {
  for (const bool stream : {false, true}) {
    for (const bool cut : {false, true}) {
      ChatReader reader(stream);
      reader.feed(completion_body({"a plan\n\ncode \"x\"", cut, 12, 34}, stream));
      ASSERT_TRUE(reader.finish(false));
      const ChatReply& reply = reader.reply();
      EXPECT_EQ(reply.fault, "");
      EXPECT_EQ(reply.text, "a plan\n\ncode \"x\"");
      EXPECT_EQ(reply.finish_reason, cut ? "length" : "stop");
      EXPECT_EQ(reply.prompt_tokens, 12);
      EXPECT_EQ(reply.completion_tokens, 34);
    }
  }
}

TEST(ChatCompletion, IsTextWhateverWasDrawn) {
  ChatReader reader(false);
  reader.feed(completion_body({"\xff\xc3", false, 1, 1}, false));
  ASSERT_TRUE(reader.finish(false));
  EXPECT_EQ(reader.reply().fault, "");
  EXPECT_TRUE(is_utf8(reader.reply().text));
}

TEST(ChatError, IsReadByTheClient) {
  ChatReader reader(false);
  reader.feed(chat_error_body("no \xff such"));
  reader.finish(false);
  EXPECT_TRUE(reader.reply().fault.starts_with("the endpoint says: no "));
}

}  // namespace
}  // namespace kw
