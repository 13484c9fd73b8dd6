// Numbers as texts for people, and tolerant reading of evidence.
#pragma once

#include <optional>
#include <string>

#include "formats/json.h"
#include "verify/verdict/verdict.h"

namespace kw {

// These functions accept any double, and return "–" for what is no number.
std::string time_text(double seconds);                          // "1.23 ms", "45.6 µs"
std::string ratio_text(double ratio);                           // "1.83×"
std::string percent_text(double fraction);                      // "12 %", "0.4 %"
std::string number_text(double x);                              // three significant digits
std::string bytes_text(double bytes);                           // "48 KiB"
std::string count_text(size_t count, const std::string& noun);  // "1 line", "2 lines"
std::string interval_text(const Interval& interval);            // "1.79–1.87×"

// Members of evidence, which may be missing or of another type.
const Json* member(const Json& json, std::string_view key);
std::optional<double> number_at(const Json& json, std::string_view key);
std::string string_at(const Json& json, std::string_view key);  // empty if there is none
// Returns "–", or the number as `show` writes it.
template <class Show>
std::string shown(const std::optional<double>& x, Show show) {
  return x ? show(*x) : "–";
}

}  // namespace kw
