#include "policy/chat/chat_stream.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "formats/base/error.h"
#include "policy/chat/prompt.h"

namespace kw {
namespace {

constexpr size_t kLongestError = 300;
constexpr int64_t kMostCountedTokens = 1'000'000'000;

// Returns the member, or null. Hostile documents have any type anywhere.
const Json& member(const Json& json, const char* name) {
  static const Json null;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && found != json.end() ? *found : null;
}

std::string text_of(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

int64_t tokens_of(const Json& json) {
  if (!json.is_number_unsigned()) return 0;
  return static_cast<int64_t>(std::min<uint64_t>(json.get<uint64_t>(), kMostCountedTokens));
}

// Returns the code unit of "\\uXXXX" at this place, or nothing if there is none.
std::optional<int> escaped_unit(const std::string& text, size_t at) {
  if (at + 6 > text.size() || text.compare(at, 2, "\\u") != 0) return {};
  int unit = 0;
  const char* begin = text.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  return error == std::errc() && end == begin + 4 ? std::optional(unit) : std::nullopt;
}

// Replaces half characters by U+FFFD. A surrogate whose other half is in the next event, or
// missing, makes JSON unreadable, and one lost character is better than a lost answer.
std::string without_halves(std::string text) {
  const auto within = [](std::optional<int> unit, int low, int high) {
    return unit && *unit >= low && *unit <= high;
  };
  for (size_t at = 0; (at = text.find('\\', at)) != std::string::npos;) {
    const auto unit = escaped_unit(text, at);
    const bool is_pair =
        within(unit, 0xD800, 0xDBFF) && within(escaped_unit(text, at + 6), 0xDC00, 0xDFFF);
    if (within(unit, 0xD800, 0xDFFF) && !is_pair) text.replace(at + 2, 4, "fffd");
    at += is_pair ? 12 : unit ? 6 : 2;
  }
  return text;
}

// Returns an endpoint's text on an error, which is {"message": ...} or a text.
std::string error_of(const Json& error) {
  std::string text = text_of(error.is_object() ? member(error, "message") : error);
  for (char& c : text) c = static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (text.empty()) return "an error without a message";
  if (text.size() <= kLongestError) return text;
  size_t length = kLongestError;
  while ((text[length] & 0xC0) == 0x80) --length;
  return text.substr(0, length);
}

}  // namespace

bool SseReader::feed(std::string_view bytes, const std::function<bool(const std::string&)>& event) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);  // "\r\n" is one end
    after_return_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + data_.size() + part.size() > kLongestEvent) {
      too_long_ = true;
      return false;
    }
    line_ += part;
    if (end == std::string_view::npos) return true;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!end_line(event)) return false;
  }
  return true;
}

bool SseReader::end_line(const std::function<bool(const std::string&)>& event) {
  std::string line;
  line.swap(line_);
  if (line.empty()) {
    if (!has_data_) return true;
    std::string data;
    data.swap(data_);
    has_data_ = false;
    return event(data);
  }
  if (!line.starts_with("data:")) return true;  // a comment, or a field without a meaning here
  const size_t begin = line.size() > 5 && line[5] == ' ' ? 6 : 5;
  if (has_data_) data_ += '\n';
  data_ += line.substr(begin);
  has_data_ = true;
  return true;
}

bool ChatReader::fail(std::string reason) {
  if (reply_.fault.empty()) reply_.fault = std::move(reason);
  return false;
}

bool ChatReader::feed(std::string_view bytes) {
  if (!reply_.fault.empty() || ended_) return false;
  bytes_ += bytes.size();
  if (bytes_ > kLongestReply) return fail("the reply is too long");
  if (!streams_) {
    body_ += bytes;
    return true;
  }
  const bool more = events_.feed(bytes, [&](const std::string& data) { return read(data); });
  if (events_.too_long()) return fail("an event of the reply is too long");
  return more;
}

bool ChatReader::finish(bool cut) {
  if (!streams_ && !cut && reply_.fault.empty()) {
    read(body_);
    ended_ = true;
  }
  return ended_ || !reply_.finish_reason.empty() || !reply_.fault.empty();
}

bool ChatReader::read(const std::string& text) {
  if (streams_ && text == "[DONE]") {
    ended_ = true;
    return false;
  }
  try {
    read_object(parse_json(without_halves(text), "the reply"));
  } catch (const InputError& error) {
    return fail(std::string("not JSON: ") + error.what());
  }
  if (reply_.text.size() > kLongestAnswer) return fail("the answer is too long");
  return reply_.fault.empty();
}

void ChatReader::read_object(const Json& json) {
  if (!json.is_object()) {
    fail("the reply is no object");
    return;
  }
  if (const Json& error = member(json, "error"); !error.is_null()) {
    fail("the endpoint says: " + error_of(error));
    return;
  }
  if (const Json& usage = member(json, "usage"); usage.is_object()) {  // the last one counts
    reply_.prompt_tokens = tokens_of(member(usage, "prompt_tokens"));
    reply_.completion_tokens = tokens_of(member(usage, "completion_tokens"));
  }
  const Json& choices = member(json, "choices");
  if (!choices.is_array()) {
    if (!streams_ || !choices.is_null()) fail("the reply has no choices");
    return;
  }
  if (choices.empty()) {  // a chunk that has only the usage
    if (!streams_) fail("the reply has no choices");
    return;
  }
  reply_.text += text_of(member(member(choices[0], streams_ ? "delta" : "message"), "content"));
  const std::string reason = text_of(member(choices[0], "finish_reason"));
  if (!reason.empty()) reply_.finish_reason = reason.size() > 40 ? "other" : reason;
}

}  // namespace kw
