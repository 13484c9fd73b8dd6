// HTTP/1.1 as text (RFC 9112): addresses, a request, and a reader of responses that takes them in
// pieces of any size. What the other side sends is hostile: lines and headers are bounded, and
// nothing throws but parse_url. No sockets here; one thread each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kw {

struct Url {
  bool tls = false;
  std::string host;  // without brackets
  int port = 80;
  std::string path;  // "/" at least
};
// http:// and https://. InputError for anything else, names and passwords among it.
Url parse_url(const std::string& text);

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A POST of `body` whose connection ends with the response.
std::string post_text(const Url& url, const HttpHeaders& headers, std::string_view body);

class ResponseReader {
 public:
  // Reads `bytes`, and appends what they hold of the body to `body`. False once the response is at
  // fault or done(); what comes then is not looked at.
  bool feed(std::string_view bytes, std::string& body);
  // The other side closed the connection. False when it did so before the end.
  bool close();

  int status() const { return status_ > 0 ? status_ : 0; }  // 0 until the headers are whole
  bool done() const { return state_ == State::kDone; }
  const std::string& fault() const { return fault_; }
  // A header of the response; its name in lower case. Null when there is none.
  const std::string* header(std::string_view name) const;

 private:
  enum class State {
    kStatus,
    kHeaders,
    kLength,
    kUntilClose,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailers,
    kDone,
    kBroken
  };
  bool fail(std::string reason);
  bool take_line(std::string_view& bytes);
  void read_line();
  void read_status();
  void read_header();
  void end_headers();
  void read_chunk_size();

  State state_ = State::kStatus;
  std::string line_;  // under way, or whole when take_line() gave true
  size_t header_bytes_ = 0;
  int status_ = 0;  // negative while headers follow
  HttpHeaders headers_;
  unsigned long long left_ = 0;  // bytes of the body or chunk
  std::string fault_;
};

}  // namespace kw
