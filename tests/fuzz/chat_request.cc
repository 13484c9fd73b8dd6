// What is sent to a server of a model: the JSON in requests.
#include "policy/chat/chat_request.h"

#include <cmath>
#include <string>

#include "fuzz.h"

namespace kw {
namespace {

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
  kw::check_chat(text);
  return 0;
}
