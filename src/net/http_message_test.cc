#include "net/http_message.h"

#include <gtest/gtest.h>

#include <random>

#include "formats/base/error.h"

namespace kw {
namespace {

TEST(ParseUrl, TakesApart) {
  const Url url = parse_url("https://api.example.test:8443/v1/x?y=1");
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "api.example.test");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/v1/x?y=1");
  EXPECT_EQ(parse_url("http://h").port, 80);
  EXPECT_EQ(parse_url("http://h").path, "/");
  EXPECT_EQ(parse_url("https://h").port, 443);
  EXPECT_EQ(parse_url("http://[::1]:9/").host, "::1");
  EXPECT_EQ(parse_url("http://[::1]:9/").port, 9);
  EXPECT_EQ(parse_url("http://[::1]").port, 80);
}

TEST(ParseUrl, RefusesTheRest) {
  for (const char* text :
       {"", "h", "ftp://h", "http://", "http:///x", "http://h:0", "http://h:99999", "http://h:x",
        "http://h:", "http://a b", "http://h\r\nX: y", "http://h?x", "http://user:word@h/"}) {
    EXPECT_THROW(parse_url(text), InputError) << text;
  }
  try {
    parse_url("http://user:word@h/");
  } catch (const InputError& error) {  // what is secret is not shown
    EXPECT_EQ(std::string(error.what()).find("word"), std::string::npos);
  }
}

TEST(PostText, IsARequest) {
  EXPECT_EQ(
      post_text(parse_url("http://h:81/p"), {{"A", "b"}}, "body"),
      "POST /p HTTP/1.1\r\nHost: h:81\r\nConnection: close\r\nContent-Length: 4\r\nA: b\r\n\r\n"
      "body");
}

struct Read {
  bool done = false;
  int status = 0;
  std::string body, fault;
};

// Fed in pieces of `step` bytes, then closed.
Read read(const std::string& text, size_t step) {
  ResponseReader reader;
  Read out;
  bool more = true;
  for (size_t at = 0; at < text.size() && more; at += step) {
    more = reader.feed(std::string_view(text).substr(at, step), out.body);
  }
  if (more) reader.close();
  out.done = reader.done();
  out.status = reader.status();
  out.fault = reader.fault();
  return out;
}

const std::string kChunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: "
    "u\r\n\r\n";

TEST(ResponseReader, ReadsBodiesInPiecesOfAnySize) {
  const std::string texts[] = {
      kChunked,
      "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!",
      "HTTP/1.0 200 OK\r\n\r\nhello!",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length:6\r\n\r\nhello!",
  };
  for (const std::string& text : texts) {
    for (size_t step = 1; step <= text.size(); ++step) {
      const Read found = read(text, step);
      EXPECT_TRUE(found.done) << text << found.fault;
      EXPECT_EQ(found.status, 200);
      EXPECT_EQ(found.body, "hello!");
    }
  }
}

TEST(ResponseReader, HeadersAreFoundByLowerCaseNames) {
  ResponseReader reader;
  std::string body;
  reader.feed("HTTP/1.1 429 Slow\r\nRetry-AFTER: \t7 \r\nContent-Length: 0\r\n\r\n", body);
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(reader.status(), 429);
  ASSERT_NE(reader.header("retry-after"), nullptr);
  EXPECT_EQ(*reader.header("retry-after"), "7");
  EXPECT_EQ(reader.header("date"), nullptr);
}

TEST(ResponseReader, WhatEndsTooEarlyIsAFault) {
  for (size_t n = 0; n < kChunked.size(); ++n) {
    const Read found = read(kChunked.substr(0, n), 7);
    EXPECT_FALSE(found.done) << n;
    EXPECT_NE(found.fault, "");
    EXPECT_TRUE(std::string("hello!").starts_with(found.body));
  }
}

TEST(ResponseReader, WhatIsNoResponseIsAFault) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const std::string& text : {
           std::string("SSH-2.0\r\n\r\n"),
           std::string("HTTP/1.1 abc\r\n\r\n"),
           std::string("HTTP/1.1 999 x\r\n\r\n"),
           head + "no colon\r\n\r\n",
           head + ": x\r\n\r\n",
           head + "Content-Length: -1\r\n\r\n",
           head + "Content-Length: 1x\r\n\r\n",
           head + "Content-Length: 99999999999999999999999\r\n\r\n",
           head + "Transfer-Encoding: gzip\r\n\r\n",
           head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
           head + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
           head + "X: " + std::string(100000, 'x'),
           std::string(100000, 'x'),
       }) {
    const Read found = read(text, 1000);
    EXPECT_FALSE(found.done) << text.substr(0, 80);
    EXPECT_NE(found.fault, "");
  }
}

TEST(ResponseReader, HeadersAndWhatComesBeforeThemAreBounded) {
  std::string many = "HTTP/1.1 200 OK\r\n", before;
  for (int i = 0; i < 100000; ++i) many += "A: b\r\n", before += "HTTP/1.1 100 C\r\n\r\n";
  EXPECT_NE(read(many, 4096).fault, "");
  EXPECT_NE(read(before, 4096).fault.find("too long"), std::string::npos);
}

TEST(ResponseReader, StandsAnything) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text = kChunked;
    for (int i = std::uniform_int_distribution<int>(1, 4)(random); i > 0; --i) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    const Read whole = read(text, text.size()), bytes = read(text, 1);
    EXPECT_EQ(whole.done, bytes.done);
    EXPECT_EQ(whole.body, bytes.body);
    EXPECT_EQ(whole.fault, bytes.fault);
    EXPECT_EQ(whole.done, whole.fault.empty());
  }
}

}  // namespace
}  // namespace kw
