#include "program/slice_text.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

namespace kw {
namespace {

using Names = std::map<std::string, std::string>;

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) || c == '_' || byte >= 0x80;
}

// The end of the string that begins at `at`, with its quotes.
size_t end_of_string(std::string_view text, size_t at) {
  const std::string quotes(text.substr(at, 3) == std::string(3, text[at]) ? 3 : 1, text[at]);
  for (at += quotes.size(); at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text.substr(at, quotes.size()) == quotes) {
      return at + quotes.size();
    }
  }
  return text.size();
}

// The end of the word, string, comment or other character that begins at `at`.
size_t end_of_token(std::string_view text, size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] == '"' || text[at] == '\'') return end_of_string(text, at);
  if (!is_word(text[at])) return at + 1;
  while (at < text.size() && is_word(text[at])) ++at;
  return at;
}

int depth_change(char c) {
  if (c == '(' || c == '[' || c == '{') return 1;
  return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

// The header, and each function from its decorator to the next one's: together all of the source.
std::vector<std::string> segments(const std::string& source) {
  std::vector<std::string> out(1);
  bool body = true;  // of a function, or the header: a decorator ends it
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('@') && body) {
      out.emplace_back();
      body = false;
    }
    body = body || line.starts_with("def ");
    out.back() += line + "\n";
  }
  return out;
}

std::string name_of_function(const std::string& text) {
  const size_t begin = text.find("\ndef ") + 5;
  return text.substr(begin, text.find('(', begin) - begin);
}

// Words that follow the first bracket, or a comma in it.
std::vector<std::string> parameters_of(const std::string& function) {
  std::vector<std::string> out;
  int depth = 0;
  bool next = false;
  for (size_t at = function.find('(', function.find("\ndef ")); at < function.size();) {
    const size_t end = end_of_token(function, at);
    const char c = function[at];
    if (is_word(c)) {
      if (next) out.push_back(function.substr(at, end - at));
      next = false;
    }
    depth += depth_change(c);
    if (depth == 0) break;
    if (depth == 1 && (c == '(' || c == ',')) next = true;
    at = end;
  }
  return out;
}

std::string words_replaced(const std::string& text, const Names& names) {
  std::string out;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_token(text, at);
    std::string token = text.substr(at, end - at);
    depth += depth_change(text[at]);
    if (const auto found = names.find(token); found != names.end()) {
      const size_t before = out.find_last_not_of(' '), after = text.find_first_not_of(' ', end);
      const bool is_attribute = before != std::string::npos && out[before] == '.';
      const bool is_keyword = depth > 0 && after != std::string::npos && text[after] == '=' &&
                              text.compare(after, 2, "==") != 0;
      if (!is_attribute && !is_keyword) token = found->second;
    }
    out += token;
    at = end;
  }
  return out;
}

// {"function": "name"} wherever it stands in a constexpr.
void rename_functions(Json& literal, const Names& names) {
  if (literal.is_object() && literal.contains("function")) {
    const auto found = names.find(literal["function"].get<std::string>());
    if (found != names.end()) literal["function"] = found->second;
  } else if (literal.is_structured()) {
    for (Json& part : literal) rename_functions(part, names);
  }
}

bool means_else(const Names& known, const Names& own) {
  return std::ranges::any_of(own, [&](const auto& each) {
    const auto found = known.find(each.first);
    return found != known.end() && found->second != each.second;
  });
}

}  // namespace

SliceText take_apart(const std::string& source) {
  SliceText out;
  out.functions = segments(source);
  std::istringstream header(out.functions.front());
  for (std::string line; std::getline(header, line);) {
    if (!line.empty()) out.header.push_back(line);
  }
  out.functions.erase(out.functions.begin());
  for (std::string& function : out.functions) {
    while (function.ends_with("\n\n")) function.pop_back();
  }
  return out;
}

std::map<std::string, std::string> definitions(const SliceText& slice) {
  Names out;
  for (const std::string& line : slice.header) {
    if (line.starts_with("import ") || line.starts_with("from ")) continue;
    out[line.substr(0, line.find_first_of(" ="))] = line;
  }
  for (const std::string& function : slice.functions) out[name_of_function(function)] = function;
  return out;
}

std::string with_names(const std::string& source, const Names& names) {
  std::vector<std::string> parts = segments(source);
  std::string out = words_replaced(parts.front(), names);
  for (size_t i = 1; i < parts.size(); ++i) {
    Names seen = names;
    for (const std::string& parameter : parameters_of(parts[i])) seen.erase(parameter);
    out += words_replaced(parts[i], seen);
  }
  return out;
}

void name_apart(std::vector<Kernel>& kernels) {
  Names known;
  for (Kernel& kernel : kernels) {
    const Names written = definitions(take_apart(kernel.source));
    Names own = written, names;
    std::string source = kernel.source;
    for (int number = 2; means_else(known, own); ++number) {
      for (const auto& [name, text] : written) {
        names[name] = "v" + std::to_string(number) + "_" + name;
      }
      source = with_names(kernel.source, names);
      own = definitions(take_apart(source));
    }
    if (names.contains(kernel.name)) kernel.name = names.at(kernel.name);
    rename_functions(kernel.constexprs, names);
    kernel.source = std::move(source);
    known.merge(own);
  }
}

}  // namespace kw
