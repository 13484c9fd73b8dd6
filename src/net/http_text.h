// What readers of HTTP's lines share: bounds, and text as header fields have it. Pure functions.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

inline constexpr size_t kLongestHttpLine = 16 << 10;
inline constexpr size_t kMostHeaderBytes = 64 << 10;

inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// All of `text` as a number; nothing when it is none, or too large.
template <class T>
std::optional<T> number(std::string_view text, int base = 10) {
  T out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return out;
}

}  // namespace kw
