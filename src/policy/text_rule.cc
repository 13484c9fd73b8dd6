#include "policy/text_rule.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "formats/tokens/python_tokens.h"
#include "ops/operator.h"

namespace kw {
namespace {

// Returns the text with blanks in place of comments and the contents of strings, so that positions
// stay.
std::string without_prose(std::string_view source) {
  std::string out(source);
  const auto blank = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, out.size()); ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  for (size_t i = 0; i < out.size();) {
    const char c = out[i];
    if (c == '#') {
      const size_t end = std::min(out.find('\n', i), out.size());
      blank(i, end);
      i = end;
    } else if (c == '"' || c == '\'') {
      const size_t end = string_end(out, i);
      blank(i, end);
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

// A dotted name and its surroundings.
struct Word {
  size_t at = 0;
  std::string text;       // "torch.nn.functional.relu", or ".sum" for a member of an expression
  char next = 0;          // the first character after it that is no blank
  bool is_first = false;  // nothing but blanks before it on its line, or an @ there
  bool decorates = false;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> out;
  const auto skip_blanks = [&](size_t i) {
    while (i < text.size() && is_blank(text[i])) ++i;
    return i;
  };
  bool is_first = true, decorates = false;
  int depth = 0;  // of brackets; inside them a line begins no statement
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool is_member = c == '.' && i + 1 < text.size() && starts_name(text[i + 1]);
    if (!starts_name(c) && !is_member) {
      if (c == '@' && is_first) {
        decorates = true;
      } else if (c == '\n') {
        is_first = depth == 0;
        decorates = false;
      } else if (!is_blank(c)) {
        is_first = false;
      }
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
      if (c == '@' && !decorates) out.push_back({.at = i, .text = "@"});
      const bool is_number = std::isdigit(static_cast<unsigned char>(c));
      i += is_number && i + 1 < text.size() && text[i + 1] == '.' ? 2 : 1;
      continue;
    }
    Word word{.at = i, .is_first = is_first, .decorates = decorates};
    while (i < text.size() && (continues_name(text[i]) || text[i] == '.')) ++i;
    word.text = text.substr(word.at, i - word.at);
    const size_t next = skip_blanks(i);
    word.next = next < text.size() ? text[next] : '\0';
    out.push_back(std::move(word));
    is_first = decorates = false;
  }
  return out;
}

size_t indentation(const std::string& text, size_t at) {
  const size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  return text.find_first_not_of(" \t\r", line) - line;
}

// Returns the end of the block of the `def` at `at`: the next line that is not blank and is
// indented no further. Lines inside the brackets of its head are further right, or are the closing
// bracket.
size_t block_end(const std::string& text, size_t at) {
  const size_t own = indentation(text, at);
  for (size_t line = text.find('\n', at); line != std::string::npos;) {
    const size_t first = text.find_first_not_of(" \t\r\n", line);
    if (first == std::string::npos) return text.size();
    if (indentation(text, first) <= own && text[first] != ')') return first;
    line = text.find('\n', first);
  }
  return text.size();
}

using Names = std::set<std::string, std::less<>>;

// Returns the Python names of the table's operators, such as "relu", by whether they compute.
const Names& names_of(bool computing) {
  static const auto all = [] {
    std::pair<Names, Names> out;
    for (const OperatorRow& row : operator_table()) {
      std::string_view name = row.name.substr(row.name.find('.') + 1);
      name = name.substr(0, name.find('.'));
      while (name.starts_with('_')) name.remove_prefix(1);
      while (name.ends_with('_')) name.remove_suffix(1);
      (is_computing(row.cls) ? out.first : out.second).emplace(name);
    }
    return out;
  }();
  return computing ? all.first : all.second;
}

// Functions of torch that the table has no operator for, and that compute nothing.
const Names kOthers = {"Generator",
                       "Size",
                       "_assert",
                       "as_tensor",
                       "atleast_1d",
                       "atleast_2d",
                       "atleast_3d",
                       "broadcast_shapes",
                       "broadcast_tensors",
                       "broadcast_to",
                       "can_cast",
                       "device",
                       "dtype",
                       "enable_grad",
                       "finfo",
                       "from_numpy",
                       "get_default_dtype",
                       "iinfo",
                       "inference_mode",
                       "is_complex",
                       "is_floating_point",
                       "is_grad_enabled",
                       "is_tensor",
                       "manual_seed",
                       "moveaxis",
                       "movedim",
                       "no_grad",
                       "numel",
                       "promote_types",
                       "ravel",
                       "result_type",
                       "set_grad_enabled",
                       "swapaxes",
                       "swapdims",
                       "tensor",
                       "tensor_split",
                       "view_as_complex",
                       "view_as_real"};
// Methods that other objects have too (lists, sets, loggers, builtins), or that prepare a tensor.
const Names kCommon = {"add", "clone",  "contiguous", "copy",  "fill", "index", "log",
                       "pad", "repeat", "sort",       "split", "to",   "zero"};

// Returns whether a call, by its name, is a computation of PyTorch. It is one if it is a function
// of torch that does not just make tensors or views, or a method that only tensors have.
bool is_pytorchs(std::string_view word) {
  const size_t point = word.rfind('.');
  if (point == std::string_view::npos) return false;
  std::string_view name = word.substr(point + 1);
  while (name.ends_with('_')) name.remove_suffix(1);
  const std::string_view owner = word.substr(0, point);
  const bool is_functional = owner == "F" || owner.ends_with("functional");
  const bool is_operators = owner.starts_with("torch.ops.") || owner == "torch.special" ||
                            owner == "torch.linalg" || owner == "torch.fft";
  if (owner == "torch" || is_functional || is_operators) {
    if (!name.empty() && std::isupper(static_cast<unsigned char>(name[0]))) return false;
    const bool moves = name == "clone" || name == "contiguous";
    return !moves && !kOthers.contains(name) &&
           (names_of(true).contains(name) || !names_of(false).contains(name));
  }
  if (owner == "self" || owner == "super") return false;  // a module's member, or its own method
  for (const char* other :
       {"tl", "triton", "math", "libdevice", "np", "numpy", "torch", "builtins"}) {
    if (owner == other || owner.starts_with(std::string(other) + ".")) return false;
  }
  return names_of(true).contains(name) && !kCommon.contains(name);
}

std::string_view last_member(std::string_view word) { return word.substr(word.rfind('.') + 1); }

}  // namespace

std::string text_rule(std::string_view source) {
  std::string text = without_prose(source);
  Names kernels;
  bool is_jit = false, defines = false;
  size_t end = 0;  // of the last kernel; definitions inside it are no functions of the module
  for (const Word& word : words_of(text)) {
    if (word.at < end) continue;
    if (defines) {
      defines = false;
      if (is_jit) {
        kernels.insert(word.text);
        end = block_end(text, word.at);
        for (size_t i = word.at; i < end; ++i) {
          if (text[i] != '\n') text[i] = ' ';
        }
      }
      is_jit = false;
    } else if (word.decorates) {
      is_jit |= last_member(word.text) == "jit" && !word.text.starts_with("torch.");
    } else if (word.is_first && word.text == "def") {
      defines = true;
    } else if (word.is_first && word.text == "class") {
      is_jit = false;
    }
  }
  if (kernels.empty()) return "there is no function with @triton.jit";
  bool launches = false;
  for (const Word& word : words_of(text)) {
    launches |= word.next == '[' && kernels.contains(last_member(word.text));
    if (word.text == "@") return "PyTorch multiplies by @";
    if (word.next == '(' && is_pytorchs(word.text)) return "PyTorch is called: " + word.text;
  }
  return launches ? "" : "no kernel is launched";
}

}  // namespace kw
