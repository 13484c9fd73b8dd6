// What an executor is asked and what it answers.
#include "fuzz.h"
#include "runtime/protocol.h"

namespace kw {
namespace {

// What was read can be sent on: it is the same when it arrives.
template <class Parse>
void check_one(const Json& json, Parse parse) {
  const auto value = parsed([&] { return parse(JsonReader(json, "message")); });
  if (!value) return;
  const Json sent = to_json(*value);
  const Json arrived = parse_json(sent.dump(), "again");
  must(to_json(parse(JsonReader(arrived, "again"))) == sent, "a message can be sent on");
}

void check(std::string_view text) {
  const auto json = parsed([&] { return parse_json(text, "fuzz"); });
  if (!json) return;
  check_one(*json, trial_request_from_json);
  check_one(*json, trial_report_from_json);
  check_one(*json, time_request_from_json);
  check_one(*json, time_report_from_json);
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
