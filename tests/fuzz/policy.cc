// What models and their endpoints say: answers, and streams of them.
#include <algorithm>
#include <string>

#include "fuzz.h"
#include "policy/chat/chat_stream.h"
#include "policy/chat/prompt.h"
#include "policy/chat/reviewer.h"

namespace kw {
namespace {

void check_answer(std::string_view text) {
  const Answer answer = parse_answer(text);
  must(answer.fault.empty() != answer.source.empty(), "code or a fault");
  must(answer.plan.size() <= kLongestPlan && is_utf8(answer.plan), "a plan can be shown");
  must(is_utf8(answer.source) && is_utf8(answer.fault), "an answer can be stored");
}

void check_opinion(std::string_view text) {
  const Opinion opinion = parse_opinion(text, "00");
  must(opinion.fault.empty() || opinion.is_functional(), "an opinion or a fault");
  must(is_utf8(opinion.why) && is_utf8(opinion.fault), "an opinion can be stored");
}

ChatReply chat(std::string_view text, bool streams, size_t step) {
  ChatReader reader(streams);
  for (bool more = true; more && !text.empty();) {
    more = reader.feed(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
  reader.finish(false);
  return reader.reply();
}

void check_chat(std::string_view text, bool streams) {
  const ChatReply whole = chat(text, streams, std::max<size_t>(text.size(), 1));
  const ChatReply pieces = chat(text, streams, text.size() / 64 + 1);
  must(whole.text == pieces.text && whole.fault == pieces.fault, "the same in pieces");
  must(is_utf8(whole.text) && is_utf8(whole.finish_reason) && is_utf8(whole.fault), "it is text");
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = kw::text_of(data, size);
  kw::check_answer(text);
  kw::check_opinion(text);
  kw::check_chat(text, true);
  kw::check_chat(text, false);
  return 0;
}
