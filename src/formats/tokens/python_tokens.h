// Where names and strings of a Python text end, for those that look at a text without parsing it.
// Pure functions.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace kw {

// Any byte outside of ASCII is of a name.
inline bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c < 0;
}
inline bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c));
}

// Behind the string whose first quote is text[quote]; the text's end where it does not end. A short
// one ends with its line, which is not in it.
inline size_t string_end(std::string_view text, size_t quote) {
  const std::string three(3, text[quote]);
  const bool is_long = text.substr(quote, 3) == three;
  for (size_t i = quote + (is_long ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (is_long) {
      if (text.substr(i, 3) == three) return i + 3;
    } else if (text[i] == text[quote]) {
      return i + 1;
    } else if (text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

}  // namespace kw
