#include "net/http_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/http_message.h"

namespace kw {
namespace {

const std::string kRequest =
    "POST /v1/x HTTP/1.1\r\nHost: localhost\r\ncontent-LENGTH:  5 \r\nX-Empty:\r\n\r\nhello";

RequestReader read_request(const std::string& text, size_t step, size_t most = 100) {
  RequestReader out(most);
  for (size_t at = 0; at < text.size(); at += step) {
    if (!out.feed(std::string_view(text).substr(at, step))) break;
  }
  return out;
}

TEST(RequestReader, ReadsPiecesOfAnySize) {
  for (size_t step = 1; step <= kRequest.size(); ++step) {
    const RequestReader found = read_request(kRequest, step);
    EXPECT_TRUE(found.done()) << step << ": " << found.fault();
    EXPECT_EQ(found.method(), "POST");
    EXPECT_EQ(found.target(), "/v1/x");
    EXPECT_EQ(found.body(), "hello");
  }
}

TEST(RequestReader, ReadsWhatTheClientWrites) {
  const std::string text = post_text(parse_url("http://localhost/v1/chat/completions"),
                                     {{"Content-Type", "application/json"}}, "{\"a\": 1}");
  const RequestReader found = read_request(text, text.size());
  EXPECT_TRUE(found.done()) << found.fault();
  EXPECT_EQ(found.target(), "/v1/chat/completions");
  EXPECT_EQ(found.body(), "{\"a\": 1}");
}

TEST(RequestReader, IsNotDoneBeforeTheEnd) {
  for (size_t length = 0; length < kRequest.size(); ++length) {
    const RequestReader found = read_request(kRequest.substr(0, length), 7);
    EXPECT_FALSE(found.done()) << length;
    EXPECT_EQ(found.fault(), "") << length;
  }
}

TEST(RequestReader, LeavesWhatComesBehindAlone) {
  const RequestReader found = read_request(kRequest + "POST /more", 1000);
  EXPECT_TRUE(found.done());
  EXPECT_EQ(found.body(), "hello");
  EXPECT_TRUE(read_request("GET / HTTP/1.1\r\n\r\n", 3).done());
}

TEST(RequestReader, RefusesTheRest) {
  const std::string start = "POST / HTTP/1.1\r\n";
  const std::string bad[] = {
      "\r\n",
      "hello\r\n",
      "POST /\r\n",
      "POST / HTTP/1.0\r\n",
      "POST / HTTP/2\r\n",
      "POST  HTTP/1.1\r\n",
      "PO(ST / HTTP/1.1\r\n",
      "POST /\x01 HTTP/1.1\r\n",
      "POST /a b HTTP/1.1\r\n",
      "POST / HTTP/1.1\n",
      start + "no colon\r\n",
      start + ": x\r\n",
      start + "a b: x\r\n",
      start + "A: x\r\n folded\r\n",
      start + "Content-Length: -1\r\n",
      start + "Content-Length: +1\r\n",
      start + "Content-Length: 1x\r\n",
      start + "Content-Length:\r\n",
      start + "Content-Length: 99999999999999999999999\r\n",
      start + "Content-Length: 1\r\nContent-Length: 1\r\n",
      start + "Transfer-Encoding: chunked\r\n",
      start + "Content-Length: 101\r\n\r\n",
      start + "A: " + std::string(20 << 10, 'x'),
      std::string(20 << 10, 'x'),
  };
  for (const std::string& text : bad) {
    for (const size_t step : {size_t{1}, size_t{1000000}}) {
      const RequestReader found = read_request(text, step);
      EXPECT_FALSE(found.done()) << text.substr(0, 80);
      EXPECT_NE(found.fault(), "") << text.substr(0, 80);
    }
  }
}

TEST(RequestReader, BoundsItsHeaders) {
  RequestReader reader(100);
  ASSERT_TRUE(reader.feed("POST / HTTP/1.1\r\n"));
  const std::string line = "A: " + std::string(1000, 'x') + "\r\n";
  int lines = 0;
  while (lines < 1000 && reader.feed(line)) ++lines;
  EXPECT_LT(lines, 70);
  EXPECT_NE(reader.fault().find("too long"), std::string::npos);
}

TEST(ResponseText, IsReadByTheClient) {
  for (const int status : {200, 400, 404, 500, 503}) {
    ResponseReader reader;
    std::string body;
    reader.feed(response_text(status, "application/json", "{}"), body);
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(reader.status(), status);
    EXPECT_EQ(body, "{}");
    ASSERT_TRUE(reader.header("content-type"));
    EXPECT_EQ(*reader.header("content-type"), "application/json");
  }
}

}  // namespace
}  // namespace kw
