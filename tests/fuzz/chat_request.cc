// What is sent to a server of a model: HTTP requests, and the JSON in them.
#include "policy/chat/chat_request.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "fuzz.h"
#include "net/http_request.h"

namespace kw {
namespace {

constexpr size_t kMostBody = 4096;

RequestReader read(std::string_view text, size_t step) {
  RequestReader out(kMostBody);
  for (bool more = true; more && !text.empty();) {
    more = out.feed(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  return out;
}

void check_request(std::string_view text) {
  const RequestReader whole = read(text, std::max<size_t>(text.size(), 1));
  const RequestReader pieces = read(text, text.size() / 64 + 1);
  must(whole.done() == pieces.done() && whole.body() == pieces.body(), "the same in pieces");
  must(whole.target() == pieces.target(), "the same target in pieces");
  must(!whole.done() || whole.fault().empty(), "whole or at fault");
  must(whole.body().size() <= kMostBody, "bounded");
}

void check_chat(std::string_view text) {
  const auto found = parsed([&] { return parse_chat_request(text); });
  if (!found) return;
  must(is_utf8(found->text), "a task can be read");
  must(std::isfinite(found->temperature) && found->temperature >= 0, "a temperature");
  must(found->top_p > 0 && found->top_p <= 1, "a share");
  must(found->max_tokens >= 0, "a count");
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = kw::text_of(data, size);
  kw::check_request(text);
  kw::check_chat(text);
  return 0;
}
