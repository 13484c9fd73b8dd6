#include "policy/chat/chat_request.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"
#include "formats/json.h"

namespace kw {
namespace {

constexpr int64_t kMostTokens = 1'000'000'000;
constexpr double kLeastShare = 1e-6;  // the likeliest token alone, as endpoints take a top_p of 0

// Returns the field, or nothing if it is missing or null.
std::optional<JsonReader> field(const JsonReader& in, const char* name) {
  if (!in.has(name) || in.at(name).is_null()) return {};
  return in.at(name);
}

double number_within(const JsonReader& in, double low, double high, const char* expected) {
  const double value = in.number();
  if (!std::isfinite(value) || value < low || value > high) in.fail(expected);
  return value;
}

std::string only_message(const JsonReader& in) {
  const std::vector<JsonReader> messages = in.items();
  if (messages.size() != 1 || messages[0].at("role").string() != "user") {
    in.fail("expected one message, the user's, with a task's text");
  }
  return messages[0].at("content").string();
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

ChatRequest parse_chat_request(std::string_view body) {
  const Json json = parse_json(body, "the request");
  const JsonReader in(json, "request");
  ChatRequest out;
  out.text = only_message(in.at("messages"));
  if (const auto n = field(in, "n"); n && n->integer() != 1) n->fail("expected 1");
  if (const auto temperature = field(in, "temperature")) {
    out.temperature = number_within(*temperature, 0, 100, "expected a number from 0 to 100");
  }
  if (const auto top_p = field(in, "top_p")) {
    out.top_p = std::max(kLeastShare, number_within(*top_p, 0, 1, "expected a number from 0 to 1"));
  }
  if (const auto most = field(in, "max_tokens")) out.max_tokens = most->integer(1, kMostTokens);
  if (const auto seed = field(in, "seed")) out.seed = static_cast<uint64_t>(seed->integer());
  if (const auto stream = field(in, "stream")) out.stream = stream->boolean();
  return out;
}

std::string completion_body(const ChatCompletion& completion, bool stream) {
  const char* object = stream ? "chat.completion.chunk" : "chat.completion";
  const Json usage = {
      {"prompt_tokens", completion.prompt_tokens},
      {"completion_tokens", completion.completion_tokens},
      {"total_tokens", completion.prompt_tokens + completion.completion_tokens},
  };
  const Json message = {{"role", "assistant"}, {"content", completion.text}};
  const Json choice = {{"index", 0},
                       {stream ? "delta" : "message", message},
                       {"finish_reason", completion.cut ? "length" : "stop"}};
  const Json reply = {{"object", object}, {"choices", Json::array({choice})}, {"usage", usage}};
  return stream ? "data: " + dumped(reply) + "\n\ndata: [DONE]\n\n" : dumped(reply);
}

std::string chat_error_body(std::string_view message) {
  return dumped({{"error", {{"message", message}}}});
}

}  // namespace kw
