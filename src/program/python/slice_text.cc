#include "program/python/slice_text.h"

#include <algorithm>
#include <string_view>

#include "formats/base/error.h"
#include "formats/tokens/python_tokens.h"

namespace kw {
namespace {

// The end of the word, string, comment, or other character that begins at `at`.
size_t end_of_token(std::string_view text, size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] == '"' || text[at] == '\'') return string_end(text, at);
  if (!continues_name(text[at])) return at + 1;
  while (at < text.size() && continues_name(text[at])) ++at;
  return at;
}

// Calls visit(begin, end) for each token.
template <typename Visit>
void for_each_token(std::string_view text, const Visit& visit) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_token(text, at);
    visit(at, end);
    at = end;
  }
}

bool begins_line(std::string_view text, size_t at) { return at == 0 || text[at - 1] == '\n'; }

std::string without_blank_end(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + "\n";
}

// Where functions begin: a decorator at the beginning of a line, behind the body of another one.
std::vector<size_t> function_begins(const std::string& source) {
  std::vector<size_t> out;
  bool in_decorators = false;
  for_each_token(source, [&](size_t at, size_t end) {
    if (!begins_line(source, at)) return;
    if (source[at] == '@' && !in_decorators) {
      out.push_back(at);
      in_decorators = true;
    } else if (source.compare(at, end - at, "def") == 0) {
      in_decorators = false;
    }
  });
  return out;
}

// The word behind the first "def" that begins a line.
std::string name_of_function(const std::string& text) {
  std::string out;
  bool next = false;
  for_each_token(text, [&](size_t at, size_t end) {
    if (!out.empty() || !continues_name(text[at])) return;
    if (next) out = text.substr(at, end - at);
    next = next || (begins_line(text, at) && text.compare(at, end - at, "def") == 0);
  });
  if (out.empty()) throw InputError("a kernel's source has a function without a name");
  return out;
}

// "b" of "import a as b" and of "from a import b".
SliceText::Part import_of(const std::string& line) {
  return {line.substr(line.find_last_of(' ') + 1), line + "\n"};
}
SliceText::Part constant_of(const std::string& line) {
  return {line.substr(0, line.find_first_of(" =")), line + "\n"};
}

}  // namespace

SliceText take_apart(const std::string& source) {
  SliceText out;
  std::vector<size_t> begins = function_begins(source);
  begins.push_back(source.size());
  for (size_t at = 0, end; at < begins.front(); at = end + 1) {
    end = std::min(source.find('\n', at), begins.front());
    const std::string line = source.substr(at, end - at);
    if (line.empty()) continue;
    if (line.starts_with("import ") || line.starts_with("from ")) {
      out.imports.push_back(import_of(line));
    } else {
      out.constants.push_back(constant_of(line));
    }
  }
  for (size_t i = 0; i + 1 < begins.size(); ++i) {
    const std::string text = source.substr(begins[i], begins[i + 1] - begins[i]);
    out.functions.push_back({name_of_function(text), without_blank_end(text)});
  }
  return out;
}

std::map<std::string, std::string> definitions(const SliceText& slice) {
  std::map<std::string, std::string> out;
  for (const auto* parts : {&slice.imports, &slice.constants, &slice.functions}) {
    for (const SliceText::Part& part : *parts) out[part.name] = part.text;
  }
  return out;
}

std::set<std::string> names_in(const std::string& python) {
  std::set<std::string> out;
  char before = '\n';
  for_each_token(python, [&](size_t at, size_t end) {
    if (continues_name(python[at]) && before != '.') out.insert(python.substr(at, end - at));
    if (python[at] != ' ') before = python[end - 1];
  });
  return out;
}

}  // namespace kw
