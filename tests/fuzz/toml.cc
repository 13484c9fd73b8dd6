// Recipes.
#include "formats/toml.h"

#include "fuzz.h"

namespace kw {
namespace {

void check(std::string_view text) {
  const auto file = parsed([&] { return parse_toml(text, "fuzz"); });
  if (!file) return;
  must(file->values.is_object(), "a file is a table");
  for (const auto& [key, line] : file->lines) must(line >= 1, "keys have lines");
  for (const auto& [key, value] : file->values.items()) {
    must(file->lines.contains(key), "each key has its line");
  }
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
