#include "cli/support/flag_checks.h"

#include <charconv>
#include <cmath>

#include "formats/base/error.h"
#include "verify/verifier.h"

namespace kw {
namespace {

constexpr double kMostSeconds = 30.0 * 24 * 3600;

// Whether all of the text is a number of the type, and where it is read to.
template <class Number>
bool reads(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

}  // namespace

CLI::Validator whole_number(uint64_t low, uint64_t high) {
  const std::string range = std::to_string(low) + " to " + std::to_string(high);
  const auto check = [=](std::string& text) -> std::string {
    uint64_t value = 0;
    if (reads(text, value) && low <= value && value <= high) return "";
    return "expected a whole number from " + range + ", found " + text;
  };
  return CLI::Validator(check, "UINT from " + range);
}

CLI::Validator real_number(double low, double high) {
  const std::string range = text_of(low) + " to " + text_of(high);
  const auto check = [=](std::string& text) -> std::string {
    double value = 0;
    if (reads(text, value) && low <= value && value <= high) return "";  // nan is not
    return "expected a number from " + range + ", found " + text;
  };
  return CLI::Validator(check, "FLOAT from " + range);
}

CLI::Option* add_seed_flag(CLI::App& app, uint64_t& value, const char* help) {
  return app.add_option("--seed", value, help)->check(whole_number(0, UINT64_MAX));
}

CLI::Option* add_judging_seed_flag(CLI::App& app, std::optional<uint64_t>& value,
                                   const std::string& more) {
  return app
      .add_option("--seed", value,
                  "seed of inputs and parameters (default: secret, another in each run)" + more)
      ->check(whole_number(0, UINT64_MAX));
}

uint64_t seed_or_secret(const std::optional<uint64_t>& given) {
  return given ? *given : secret_seed();
}

double parse_seconds(const std::string& flag, const std::string& text) {
  std::string number = text;
  double unit = 1;
  if (number.ends_with('s') || number.ends_with('m') || number.ends_with('h')) {
    unit = number.back() == 'h' ? 3600 : number.back() == 'm' ? 60 : 1;
    number.pop_back();
  }
  double value = 0;
  if (!reads(std::string_view(number), value) || !(value > 0) || value * unit > kMostSeconds) {
    throw InputError(flag + " " + text +
                     ": expected a time such as 60s, 5m or 1h, of 720 hours at most");
  }
  return value * unit;
}

}  // namespace kw
