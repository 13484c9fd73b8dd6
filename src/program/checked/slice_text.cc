#include "program/checked/slice_text.h"

#include <algorithm>
#include <regex>
#include <string_view>

#include "formats/base/error.h"
#include "formats/tokens/python_tokens.h"
#include "program/checked/checked_names.h"
#include "program/checked/checked_text.h"
#include "program/checked/python_lines.h"

namespace kw {
namespace {

using Tokens = std::vector<std::string_view>;

[[noreturn]] void no_slice(const std::string& what) {
  throw InputError("export: a kernel's source has " + what);
}

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

// Returns tokens without blanks, where these do not keep words apart.
std::string joined(const Tokens& tokens) {
  std::string out;
  for (const std::string_view token : tokens) {
    if (!out.empty() && continues_name(out.back()) && continues_name(token[0])) out += ' ';
    out += token;
  }
  return out;
}

bool matches(const std::string& text, const std::regex& pattern) {
  constexpr size_t kLongest = 400;  // std::regex takes stack for each character
  return text.size() <= kLongest && std::regex_match(text, pattern);
}

bool is_string(std::string_view token) { return token[0] == '"' || token[0] == '\''; }

std::string without_blank_end(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + "\n";
}

// Modules that the slicer imports from (worker/slicer.py).
bool is_module(const std::string& name) {
  static const std::regex modules(
      "triton(\\.language(\\.math|\\.standard|\\.extra(\\.cuda)?(\\.libdevice)?)?)?");
  return matches(name, modules);
}

// Returns the name that an import gives a meaning: "b" of "import a as b" and of "from a import b".
std::string name_of_import(const Tokens& tokens) {
  const auto at = [&](std::string_view word) {
    return std::find(tokens.begin(), tokens.end(), word);
  };
  const auto import = at("import"), as = at("as");
  if (as < import || import == tokens.end()) no_slice("an import of another form");
  const bool named = tokens.end() - as == 2;
  const bool from = import != tokens.begin();
  const std::string what = joined(Tokens(import + 1, as));
  const std::string module = from ? joined(Tokens(tokens.begin() + 1, import)) : what;
  const bool member =
      is_word(what) && (what[0] != '_' || module == "triton.language.standard") &&
      (module != "triton" || what == "language" || what == "cdiv" || what == "next_power_of_2");
  const bool fits = (named || as == tokens.end()) && is_word(tokens.back()) && is_module(module) &&
                    (from ? member : named || module == "triton");
  if (!fits) no_slice("an import of another form");
  return std::string(tokens.back());
}

// Returns the name of a constant: "a = tl.float32" or "a = tl.constexpr(literal)".
std::string name_of_constant(const Tokens& tokens) {
  const bool member = tokens.size() >= 5 && is_word(tokens[0]) && tokens[1] == "=" &&
                      tokens[2] == "tl" && tokens[3] == "." && is_word(tokens[4]) &&
                      tokens[4][0] != '_';
  bool fits = member && tokens.size() == 5;
  if (member && tokens[4] == "constexpr" && tokens.size() >= 8) {
    const Tokens literal(tokens.begin() + 6, tokens.end() - 1);
    static const std::regex literals(
        "None|True|False|-?[0-9]+(\\.[0-9]+)?(e[+-]?[0-9]+)?|float\\([\"'](-?inf|nan)[\"']\\)");
    const bool text = literal.size() == 1 && is_string(literal[0]);
    fits = tokens[5] == "(" && tokens.back() == ")" && (text || matches(joined(literal), literals));
  }
  if (!fits) no_slice("a statement that is no import, constant or function");
  return std::string(tokens[0]);
}

// Whether a bracket that opens at tokens[i] is that of float("inf").
bool is_special_float(const Tokens& tokens, size_t i) {
  static const std::regex special("[\"'][-+]?(inf|nan|Infinity)[\"']");
  return tokens[i - 1] == "float" && i + 2 < tokens.size() && tokens[i + 2] == ")" &&
         matches(std::string(tokens[i + 1]), special);
}

// Whether a token may be in the parameters of a function, where it would run when the function is
// defined. There are names, attributes and literals, and no calls, subscripts and formatted
// strings.
bool is_plain(const Tokens& tokens, size_t i) {
  const std::string_view token = tokens[i], before = tokens[i - 1];
  if (is_string(token)) return !continues_name(before[0]);
  if (continues_name(token[0])) {
    return !is_keyword(token) || token == "None" || token == "True" || token == "False";
  }
  if (token == ">") return before == "-";  // of an arrow: a comparison calls a method
  if (std::string_view("()[],:=.*+-").find(token) == std::string_view::npos) return false;
  const bool opens = token == "(" || token == "[";
  const bool first = std::string_view("([,=:").find(before) != std::string_view::npos;
  return !opens || first || is_special_float(tokens, i);
}

// Returns the names of a function's parameters.
std::set<std::string> parameters_of(const Tokens& tokens) {
  if (tokens.size() < 5 || !is_word(tokens[1]) || tokens[2] != "(") {
    no_slice("a function without a name and parameters");
  }
  std::set<std::string> out;
  int depth = 1;
  for (size_t i = 3; i < tokens.size(); ++i) {
    const std::string_view token = tokens[i];
    if (depth == 0 && token == ":") return out;
    if (!is_plain(tokens, i)) break;
    const bool begins = tokens[i - 1] == "," || tokens[i - 1] == "*" || i == 3;
    if (depth == 1 && begins && is_word(token)) out.insert(std::string(token));
    depth += token == "(" || token == "[" ? 1 : token == ")" || token == "]" ? -1 : 0;
  }
  no_slice("a function whose parameters are not plain");
}

SliceText::Part part_of(const std::string& name, const std::string& source, size_t begin,
                        size_t end) {
  return {name, without_blank_end(source.substr(begin, end - begin)), {}};
}

}  // namespace

SliceText take_apart(const std::string& source) {
  check_slice(source);
  SliceText out;
  size_t begin = source.size();  // of the function that is being read
  bool decorated = false;        // and no "def" yet
  std::string name;
  std::set<std::string> parameters;
  const auto end_function = [&](size_t end) {
    if (decorated) no_slice("a decorator without a function");
    if (name.empty()) return;
    out.functions.push_back(part_of(name, source, begin, end));
    out.functions.back().parameters = parameters;
  };
  for (const LogicalLine& line : logical_lines(source)) {
    const std::string_view first = line.tokens[0];
    if (line.indented) {
      if (name.empty() || decorated) no_slice("an indented line outside of a function");
    } else if (first == "@") {
      end_function(line.begin);
      if (joined(line.tokens) != "@triton.jit") no_slice("another decorator than @triton.jit");
      begin = line.begin;
      decorated = true;
    } else if (first == "def") {
      if (!decorated) no_slice("a function that is no kernel's");
      parameters = parameters_of(line.tokens);
      name = line.tokens[1];
      decorated = false;
    } else if (!name.empty() || decorated) {
      no_slice("a statement after its functions");
    } else if (first == "import" || first == "from") {
      out.imports.push_back(part_of(name_of_import(line.tokens), source, line.begin, line.end));
    } else {
      out.constants.push_back(part_of(name_of_constant(line.tokens), source, line.begin, line.end));
    }
  }
  end_function(source.size());
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
