// What the fuzz targets share. A target is one file that defines LLVMFuzzerTestOneInput, as
// libFuzzer wants it; with other compilers driver.cc calls it (CONTRIBUTING.md, "Fuzzing").
//
// The contract of every parser of hostile input: a value or InputError. Any other exception, a
// failed property, a crash, more than a gigabyte or more than seconds of CPU time is a find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "formats/base/error.h"
#include "formats/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace kw {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process when a property does not hold.
inline void must(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", property);
  std::abort();
}

// What `parse` gives, or nothing when it refuses the input in the documented way.
template <class Parse>
auto parsed(Parse parse) -> std::optional<decltype(parse())> {
  try {
    return parse();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace kw
