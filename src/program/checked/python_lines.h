// Python text as logical lines: what a newline ends that is outside of brackets and strings. For
// text that is copied into a module and must say the same to every Python. Pure functions.
#pragma once

#include <string_view>
#include <vector>

namespace kw {

struct LogicalLine {
  size_t begin = 0, end = 0;  // in the text; the newline at `end` does not belong to it
  bool indented = false;
  std::vector<std::string_view> tokens;  // without blanks and comments; a string is one token
};

// Returns the lines that have tokens. InputError for a string or bracket that does not end, for a
// backslash outside of strings that continues nothing, and for an f-string that older and newer
// Pythons end at different places.
std::vector<LogicalLine> logical_lines(std::string_view text);

}  // namespace kw
