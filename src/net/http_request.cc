#include "net/http_request.h"

#include <algorithm>

#include "net/http_text.h"

namespace kw {
namespace {

// A name of a header or method (RFC 9110, 5.6.2).
bool is_token(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

}  // namespace

void RequestReader::fail(std::string reason) {
  state_ = State::kBroken;
  fault_ = std::move(reason);
}

// True when line_ is whole; the line's end is not part of it.
bool RequestReader::take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  const size_t length = std::min(end, bytes.size());
  if (line_.size() + length > kLongestHttpLine) {
    fail("a line of the headers is too long");
    return false;
  }
  line_ += bytes.substr(0, length);
  bytes.remove_prefix(end == std::string_view::npos ? length : length + 1);
  if (end == std::string_view::npos) return false;
  if (!line_.ends_with('\r')) {
    fail("a line of the headers does not end as lines of HTTP do");
    return false;
  }
  line_.pop_back();
  return true;
}

bool RequestReader::feed(std::string_view bytes) {
  while (!bytes.empty() && state_ != State::kDone && state_ != State::kBroken) {
    if (state_ == State::kBody) {
      const size_t length = std::min<size_t>(*length_ - body_.size(), bytes.size());
      body_ += bytes.substr(0, length);
      bytes.remove_prefix(length);
      if (body_.size() == *length_) state_ = State::kDone;
    } else if (take_line(bytes)) {
      if (state_ == State::kRequest) {
        read_request();
      } else if (line_.empty()) {
        end_headers();
      } else {
        read_header();
      }
      line_.clear();
    }
  }
  return state_ != State::kDone && state_ != State::kBroken;
}

void RequestReader::read_request() {
  const std::string_view line = line_;
  const size_t first = line.find(' '), last = line.rfind(' ');
  const std::string_view method = line.substr(0, first);
  const std::string_view target =
      last == first ? std::string_view() : line.substr(first + 1, last - first - 1);
  const std::string_view version = last == std::string_view::npos ? line : line.substr(last + 1);
  const bool printable = std::ranges::all_of(target, [](char c) { return c > ' ' && c <= '~'; });
  if (!is_token(method) || target.empty() || !printable || version != "HTTP/1.1") {
    return fail("this is no request of HTTP/1.1");
  }
  method_ = method;
  target_ = target;
  state_ = State::kHeaders;
}

void RequestReader::read_header() {
  header_bytes_ += line_.size();
  if (header_bytes_ > kMostHeaderBytes) return fail("the headers are too long");
  const std::string_view line = line_;
  const size_t colon = std::min(line.find(':'), line.size());
  if (!is_token(line.substr(0, colon)) || colon == line.size()) {
    return fail("a line of the headers is none");
  }
  const std::string name = lower(line.substr(0, colon));
  if (name == "transfer-encoding") return fail("a body with a Content-Length is expected");
  if (name != "content-length") return;
  if (length_) return fail("the length of the body is given twice");
  length_ = number<unsigned long long>(trimmed(line.substr(colon + 1)));
  if (!length_) fail("the length of the body is no number");
}

void RequestReader::end_headers() {
  if (!length_) length_ = 0;
  if (*length_ > most_body_) {
    return fail("the body is longer than " + std::to_string(most_body_) + " bytes");
  }
  state_ = *length_ ? State::kBody : State::kDone;
}

std::string response_text(int status, std::string_view content_type, std::string_view body) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " " + reason_of(status) + "\r\n";
  out.append("Content-Type: ").append(content_type);
  out += "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n";
  return out.append(body);
}

}  // namespace kw
