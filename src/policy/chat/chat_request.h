// Requests to a server of a model and its replies: the server's side of chat_stream.h, as far as
// the project's models need it (docs/policies.md, "local"). Requests are hostile input. Pure
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
  int64_t max_tokens = 0;             // of the answer; 0: as many as fit
  std::optional<uint64_t> seed;
  bool stream = false;
};
// Reads the body of a request. Throws InputError with what is not as expected. Ignores fields
// without a meaning here.
ChatRequest parse_chat_request(std::string_view body);

struct ChatCompletion {
  std::string text;
  bool cut = false;  // it reached the limit of tokens
  int64_t prompt_tokens = 0, completion_tokens = 0;
};
// Returns one JSON object, or with `stream` the same as events.
std::string completion_body(const ChatCompletion& completion, bool stream);
std::string chat_error_body(std::string_view message);

}  // namespace kw
