// The server's side of HTTP/1.1 as text (RFC 9112): a reader of one request that takes it in pieces
// of any size, and a response to it. What the other side sends is hostile: lines, headers and body
// are bounded, only what is needed is taken (a body has a Content-Length; no chunks, no folded
// headers), and nothing throws. No sockets here; one thread each.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kw {

class RequestReader {
 public:
  // `most_body`: bytes that a body may have.
  explicit RequestReader(size_t most_body) : most_body_(most_body) {}

  // False once the request is at fault or done(); what comes then is not looked at.
  bool feed(std::string_view bytes);

  bool done() const { return state_ == State::kDone; }
  const std::string& fault() const { return fault_; }
  const std::string& method() const { return method_; }
  const std::string& target() const { return target_; }  // "/v1/chat/completions"
  const std::string& body() const { return body_; }

 private:
  enum class State { kRequest, kHeaders, kBody, kDone, kBroken };
  void fail(std::string reason);
  bool take_line(std::string_view& bytes);
  void read_request();
  void read_header();
  void end_headers();

  const size_t most_body_;
  State state_ = State::kRequest;
  std::string line_;  // under way, or whole when take_line() gave true
  size_t header_bytes_ = 0;
  std::optional<unsigned long long> length_;
  std::string method_, target_, body_, fault_;
};

// A whole response, whose connection ends with it.
std::string response_text(int status, std::string_view content_type, std::string_view body);

}  // namespace kw
