// The answer of a chat endpoint as it comes: server-sent events of "chat.completion.chunk" objects,
// or one JSON object where the endpoint does not stream. Hostile input: lines, events and the whole
// are bounded, and what cannot be read is a fault, never an exception. One thread each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace kw {

// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): the data of
// each; names and ids are passed over.
class SseReader {
 public:
  static constexpr size_t kLongestEvent = 1 << 20;  // bytes, with its lines' ends

  // Calls `event` with the data of each event that ends in `bytes`; it returns false to stop. False
  // when it did, and when a line is too long.
  bool feed(std::string_view bytes, const std::function<bool(const std::string&)>& event);
  bool too_long() const { return too_long_; }

 private:
  bool end_line(const std::function<bool(const std::string&)>& event);

  std::string line_, data_;
  bool has_data_ = false, too_long_ = false, after_return_ = false;
};

struct ChatReply {
  std::string text;
  std::string finish_reason;  // "stop", "length", ...
  int64_t prompt_tokens = 0, completion_tokens = 0;
  std::string fault;  // what came cannot be read, or names an error
};

class ChatReader {
 public:
  static constexpr size_t kLongestReply = 16 << 20;  // bytes, events and all

  // `streams`: what comes are events, not one object.
  explicit ChatReader(bool streams) : streams_(streams) {}
  // False when nothing more is wanted: the end came, or a fault.
  bool feed(std::string_view bytes);
  // The response is over. Whether the answer is whole, or at fault: a stream may have broken off.
  // `cut`: the response itself came to no end.
  bool finish(bool cut);
  const ChatReply& reply() const { return reply_; }

 private:
  bool read(const std::string& text);
  void read_object(const Json& json);
  bool fail(std::string reason);

  const bool streams_;
  SseReader events_;
  std::string body_;
  size_t bytes_ = 0;
  bool ended_ = false;
  ChatReply reply_;
};

}  // namespace kw
