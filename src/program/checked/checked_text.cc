#include "program/checked/checked_text.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "formats/base/error.h"
#include "formats/json.h"

namespace kw {
namespace {

// Returns the encoding that a line names in a comment, in lower case; empty for none. As Python, it
// takes the first "coding:" or "coding=" of the comment that a name follows.
std::string named_encoding(std::string_view line) {
  const size_t hash = line.find_first_not_of(" \t\f");
  if (hash == std::string_view::npos || line[hash] != '#') return "";
  for (size_t at = line.find("coding", hash); at != std::string_view::npos;
       at = line.find("coding", at + 1)) {
    std::string_view rest = line.substr(at + 6);
    if (!rest.starts_with(':') && !rest.starts_with('=')) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t", 1), rest.size()));
    std::string name;
    for (const char c : rest) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') break;
      name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (!name.empty()) return name;
  }
  return "";
}

// The end of the line that begins at `at`: Python ends one at a carriage return too.
size_t end_of_line(std::string_view text, size_t at) {
  return std::min(text.find_first_of("\r\n", at), text.size());
}

}  // namespace

void check_reference(std::string_view text) {
  if (!is_utf8(text)) throw InputError("export: the model's file is not UTF-8 text");
  if (text.find('\0') != std::string_view::npos) {
    throw InputError("export: the model's file has a NUL character");
  }
  size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (int line = 1; line <= 2 && at < text.size(); ++line) {
    const size_t end = end_of_line(text, at);
    const std::string name = named_encoding(text.substr(at, end - at));
    if (!name.empty() && name != "utf-8" && name != "utf8") {
      throw InputError("export: line " + std::to_string(line) +
                       " of the model's file says that it is " + name +
                       ". Save it as UTF-8 and remove that line");
    }
    at = end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
  }
}

void check_slice(std::string_view text) {
  if (!is_utf8(text)) throw InputError("export: a kernel's source is not UTF-8 text");
  const auto control = [](char c) {
    return (0 <= c && c < ' ' && c != '\t' && c != '\n') || c == 0x7F;
  };
  if (std::any_of(text.begin(), text.end(), control)) {
    throw InputError("export: a kernel's source has a control character");
  }
}

}  // namespace kw
