// What a server of a model is asked, and what it says: the other side of chat_stream.h, as far as
// the project's own models answer it (docs/policies.md, "local"). Requests are hostile input. Pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

struct ChatRequest {
  std::string text;                   // the only message, the user's: a task's text
  double temperature = 1, top_p = 1;  // finite, 0 or more; above 0, at most 1
  int64_t max_tokens = 0;             // of the answer; 0: as many as there is room for
  std::optional<uint64_t> seed;
  bool stream = false;
};
// The body of a request. InputError says what is not as expected; fields that say nothing here are
// passed over.
ChatRequest parse_chat_request(std::string_view body);

struct ChatCompletion {
  std::string text;
  bool cut = false;  // by the most tokens that it may have
  int64_t prompt_tokens = 0, completion_tokens = 0;
};
// One JSON object, or with `stream` the events that say the same.
std::string completion_body(const ChatCompletion& completion, bool stream);
std::string chat_error_body(std::string_view message);

}  // namespace kw
