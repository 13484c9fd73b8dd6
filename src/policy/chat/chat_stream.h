// Reads the answer of a chat endpoint as it comes: server-sent events of "chat.completion.chunk"
// objects, or one JSON object if the endpoint does not stream. The input is hostile: the lengths of
// lines, events and the whole are bounded, and unreadable input is a fault, never an exception. One
// thread each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace kw {

// Reads the data of server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). Ignores their names and ids.
class SseReader {
 public:
  static constexpr size_t kLongestEvent = 1 << 20;  // bytes, with its lines' ends

  // Calls `event` with the data of each event that ends in `bytes`; `event` returns false to stop.
  // Returns false if it did, or if a line is too long.
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
  std::string fault;  // why the answer cannot be read, or the error that it names; else empty
};

class ChatReader {
 public:
  static constexpr size_t kLongestReply = 16 << 20;  // bytes, events and all

  // `streams` says whether events come, and not one object.
  explicit ChatReader(bool streams) : streams_(streams) {}
  // Returns false if no more input is needed: the end or a fault has come.
  bool feed(std::string_view bytes);
  // Ends the response, and returns whether the answer is complete; a broken stream is a fault.
  // `cut` says that the response had no proper end.
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
