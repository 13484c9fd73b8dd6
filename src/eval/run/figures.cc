#include "eval/run/figures.h"

#include <cmath>
#include <cstdio>

namespace kw {
namespace {

constexpr std::string_view kNone = "–";

std::string print(const char* format, double x) {
  char text[64];
  std::snprintf(text, sizeof(text), format, x);
  return text;
}

// Returns three significant digits without an exponent, for 0.001 <= x < 1e6.
std::string three_digits(double x) {
  return print(x >= 99.95 ? "%.0f" : x >= 9.995 ? "%.1f" : x >= 0.9995 ? "%.2f" : "%.3f", x);
}

}  // namespace

std::string time_text(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kNone);
  if (seconds < 0) return "−" + time_text(-seconds);
  if (seconds == 0) return "0";
  if (seconds >= 0.9995) return three_digits(seconds) + " s";
  if (seconds >= 0.9995e-3) return three_digits(1e3 * seconds) + " ms";
  return three_digits(1e6 * seconds) + " µs";
}

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? print(ratio >= 99.5 ? "%.0f" : "%.2f", ratio) + "×"
                              : std::string(kNone);
}

std::string percent_text(double fraction) {
  if (!std::isfinite(fraction)) return std::string(kNone);
  const double percent = 100 * fraction;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  if (percent > 99.9 && percent < 100) return ">99.9 %";
  const bool rounds_to_all = percent >= 99.5 && percent < 100;
  const bool is_fine = (percent > 0 && percent < 9.95) || rounds_to_all;
  return print(is_fine ? "%.1f" : "%.0f", percent) + " %";
}

std::string number_text(double x) {
  return std::isfinite(x) ? print("%.3g", x) : std::string(kNone);
}

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return std::string(kNone);
  if (bytes < 1024) return print("%.0f B", bytes);
  if (bytes < 1024 * 1024) return print("%.4g KiB", bytes / 1024);
  return print("%.4g MiB", bytes / (1024 * 1024));
}

std::string count_text(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

std::string interval_text(const Interval& interval) {
  return print("%.2f", interval.lower) + "–" + print("%.2f", interval.upper) + "×";
}

const Json* member(const Json& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto it = json.find(key);
  return it == json.end() ? nullptr : &*it;
}

std::optional<double> number_at(const Json& json, std::string_view key) {
  const Json* found = member(json, key);
  if (!found || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::string string_at(const Json& json, std::string_view key) {
  const Json* found = member(json, key);
  return found && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace kw
