#include "net/http_message.h"

#include <algorithm>

#include "formats/base/error.h"
#include "net/http_text.h"

namespace kw {
namespace {

[[noreturn]] void bad_url(const std::string& text, const std::string& why) {
  throw InputError(text + ": " + why + "; expected http://HOST[:PORT][/PATH] or https://...");
}

}  // namespace

Url parse_url(const std::string& text) {
  Url out;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    out.tls = true;
    out.port = 443;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    bad_url(text, "not an address");
  }
  for (char c : rest) {
    if (c <= ' ' || c > '~') bad_url(text, "has a character that addresses do not have");
  }
  const size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view host = rest.substr(0, slash);
  if (slash < rest.size() && rest[slash] != '/') bad_url(text, "has no path before its ? or #");
  out.path = slash < rest.size() ? std::string(rest.substr(slash)) : "/";
  if (host.find('@') != std::string_view::npos) bad_url("the address", "names a user");
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    const auto port = number<int>(host.substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) bad_url(text, "its port is none");
    out.port = *port;
    host = host.substr(0, colon);
  }
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  if (host.empty()) bad_url(text, "has no host");
  out.host = host;
  return out;
}

std::string post_text(const Url& url, const HttpHeaders& headers, std::string_view body) {
  const bool usual = url.port == (url.tls ? 443 : 80);
  const bool v6 = url.host.find(':') != std::string::npos;
  std::string out = "POST " + url.path + " HTTP/1.1\r\nHost: ";
  out += v6 ? "[" + url.host + "]" : url.host;
  if (!usual) out += ":" + std::to_string(url.port);
  out += "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) out += name + ": " + value + "\r\n";
  out += "\r\n";
  return out.append(body);
}

bool ResponseReader::fail(std::string reason) {
  state_ = State::kBroken;
  fault_ = std::move(reason);
  return false;
}

const std::string* ResponseReader::header(std::string_view name) const {
  const auto found = std::find_if(headers_.begin(), headers_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == headers_.end() ? nullptr : &found->second;
}

// True when line_ is whole; the line's end is not part of it.
bool ResponseReader::take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  const size_t length = std::min(end, bytes.size());
  if (line_.size() + length > kLongestHttpLine) return fail("a line of its headers is too long");
  line_ += bytes.substr(0, length);
  bytes.remove_prefix(end == std::string_view::npos ? length : length + 1);
  if (end == std::string_view::npos) return false;
  if (line_.ends_with('\r')) line_.pop_back();
  return true;
}

bool ResponseReader::feed(std::string_view bytes, std::string& body) {
  while (!bytes.empty() && state_ != State::kDone && state_ != State::kBroken) {
    if (state_ == State::kUntilClose) {
      body += bytes;
      return true;
    }
    if (state_ == State::kLength || state_ == State::kChunk) {
      const size_t length = static_cast<size_t>(std::min<unsigned long long>(left_, bytes.size()));
      body += bytes.substr(0, length);
      bytes.remove_prefix(length);
      left_ -= length;
      if (left_ == 0) state_ = state_ == State::kLength ? State::kDone : State::kChunkEnd;
    } else if (take_line(bytes)) {
      read_line();
      line_.clear();
    }
  }
  return state_ != State::kDone && state_ != State::kBroken;
}

bool ResponseReader::close() {
  if (state_ == State::kUntilClose) state_ = State::kDone;
  if (state_ != State::kDone && state_ != State::kBroken) fail("the connection ended too early");
  return state_ == State::kDone;
}

void ResponseReader::read_line() {
  switch (state_) {
    case State::kStatus:
      return read_status();
    case State::kHeaders:
      return line_.empty() ? end_headers() : read_header();
    case State::kChunkSize:
      return read_chunk_size();
    case State::kChunkEnd:
      if (line_.empty()) {
        state_ = State::kChunkSize;
      } else {
        fail("a chunk of its body is longer than it says");
      }
      return;
    case State::kTrailers:
      header_bytes_ += line_.size();
      if (header_bytes_ > kMostHeaderBytes) fail("its headers are too long");
      if (line_.empty()) state_ = State::kDone;
      return;
    default:
      return;
  }
}

void ResponseReader::read_status() {
  const std::string_view line = line_;
  const bool http = line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ");
  const auto status = http ? number<int>(line.substr(9, 3)) : std::nullopt;
  if (!status || *status < 100 || *status > 599) {
    fail("what answers does not speak HTTP/1.1");
    return;
  }
  status_ = -*status;  // known when the headers are whole
  state_ = State::kHeaders;
}

void ResponseReader::read_header() {
  header_bytes_ += line_.size();
  if (header_bytes_ > kMostHeaderBytes) {
    fail("its headers are too long");
    return;
  }
  const size_t colon = line_.find(':');
  if (colon == std::string::npos || colon == 0) {
    fail("a line of its headers is none");
    return;
  }
  const std::string_view line = line_;
  headers_.emplace_back(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
}

void ResponseReader::end_headers() {
  if (-status_ < 200) {  // "100 Continue": the response comes behind it
    // Bounded as headers are: header_bytes_ goes on.
    header_bytes_ += 16;
    if (header_bytes_ > kMostHeaderBytes) {
      fail("its headers are too long");
      return;
    }
    status_ = 0;
    headers_.clear();
    state_ = State::kStatus;
    return;
  }
  status_ = -status_;
  const std::string* encoding = header("transfer-encoding");
  const std::string* length = header("content-length");
  if (encoding) {
    state_ = State::kChunkSize;
    if (lower(*encoding) != "chunked") fail("its body has an encoding that was not asked for");
  } else if (status_ == 204 || status_ == 304) {
    state_ = State::kDone;
  } else if (length) {
    const auto bytes = number<unsigned long long>(*length);
    left_ = bytes.value_or(0);
    state_ = left_ ? State::kLength : State::kDone;
    if (!bytes) fail("the length of its body is no number");
  } else {
    state_ = State::kUntilClose;
  }
}

void ResponseReader::read_chunk_size() {
  const std::string_view line = line_;
  const auto size = number<unsigned long long>(trimmed(line.substr(0, line.find(';'))), 16);
  if (!size) {
    fail("the length of a chunk of its body is no number");
    return;
  }
  left_ = *size;
  state_ = left_ ? State::kChunk : State::kTrailers;
}

}  // namespace kw
