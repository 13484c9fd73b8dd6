// The strict reader of JSON: every accessor on every place of a document.
#include "fuzz.h"

namespace kw {
namespace {

// Visits the whole document through the reader. The number of places.
size_t walk(const JsonReader& in) {
  size_t places = 1;
  parsed([&] { return in.boolean(); });
  parsed([&] { return in.integer(-5, 5); });
  parsed([&] { return in.number(); });
  parsed([&] { return in.string().size(); });
  parsed([&] { return in.integers(); });
  if (const auto items = parsed([&] { return in.items(); })) {
    for (const JsonReader& item : *items) places += walk(item);
  }
  if (const auto members = parsed([&] { return in.members(); })) {
    for (const auto& [key, member] : *members) places += walk(member);
  }
  return places;
}

void check(std::string_view text) {
  const auto json = parsed([&] { return parse_json(text, "fuzz"); });
  if (!json) return;
  must(walk(JsonReader(*json, "")) <= text.size(), "no more places than bytes");
  must(parse_json(json->dump(), "again") == *json, "what was read can be written and read again");
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
