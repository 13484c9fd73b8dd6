#include "policy/text_rule.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "ops/operator.h"

namespace kw {
namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c < 0;
}
bool continues_name(char c) {
  return starts_name(c) || std::isdigit(static_cast<unsigned char>(c));
}

// Blanks in place of comments and of strings' insides, so that places stay what they are.
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
      const std::string three(3, c);
      const bool is_long = out.compare(i, 3, three) == 0;
      size_t end = i + (is_long ? 3 : 1);
      while (end < out.size()) {
        if (out[end] == '\\') {
          end += 2;
        } else if (is_long ? out.compare(end, 3, three) == 0 : out[end] == c || out[end] == '\n') {
          end += is_long ? 3 : 1;
          break;
        } else {
          ++end;
        }
      }
      blank(i, end);
      i = end;
    } else {
      ++i;
    }
  }
  return out;
}

// A name with points in it, and what stands around it.
struct Word {
  size_t at = 0;
  std::string text;       // "torch.nn.functional.relu"; of what is no name's member, ".sum"
  char next = 0;          // the first that is no blank behind it
  bool is_first = false;  // nothing but blanks before it on its line, or an @ there
  bool decorates = false;
};

std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> out;
  const auto skip_blanks = [&](size_t i) {
    while (i < text.size() && (text[i] == ' ' || text[i] == '\t')) ++i;
    return i;
  };
  bool is_first = true, decorates = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool is_member = c == '.' && i + 1 < text.size() && starts_name(text[i + 1]);
    if (!starts_name(c) && !is_member) {
      if (c == '@' && is_first) {
        decorates = true;
      } else if (c == '\n') {
        is_first = true;
        decorates = false;
      } else if (c != ' ' && c != '\t') {
        is_first = false;
      }
      if (c == '@' && !decorates) out.push_back({.at = i, .text = "@"});
      i += std::isdigit(static_cast<unsigned char>(c)) && i + 1 < text.size() && text[i + 1] == '.'
               ? 2
               : 1;
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
  return text.find_first_not_of(" \t", line) - line;
}

// Where the block of the `def` at `at` ends: the next line that is as far left and no blank one.
// Lines inside of its head's brackets are further right, or the closing one.
size_t block_end(const std::string& text, size_t at) {
  const size_t own = indentation(text, at);
  for (size_t line = text.find('\n', at); line != std::string::npos;) {
    const size_t first = text.find_first_not_of(" \t\n", line);
    if (first == std::string::npos) return text.size();
    if (indentation(text, first) <= own && text[first] != ')') return first;
    line = text.find('\n', first);
  }
  return text.size();
}

// What the table's computing operators are called in Python: "relu",
// "scaled_dot_product_attention".
const std::set<std::string, std::less<>>& computing_names() {
  static const std::set<std::string, std::less<>> names = [] {
    std::set<std::string, std::less<>> out;
    for (const OperatorRow& row : operator_table()) {
      if (!is_computing(row.cls)) continue;
      std::string_view name = row.name.substr(row.name.find('.') + 1);
      name = name.substr(0, name.find('.'));
      while (name.starts_with('_')) name.remove_prefix(1);
      while (name.ends_with('_')) name.remove_suffix(1);
      out.emplace(name);
    }
    return out;
  }();
  return names;
}

bool is_pytorchs(std::string_view word) {
  const size_t point = word.rfind('.');
  if (point == std::string_view::npos) return false;
  std::string_view name = word.substr(point + 1);
  while (name.ends_with('_')) name.remove_suffix(1);
  if (!computing_names().contains(name)) return false;
  for (const char* other : {"tl.", "triton.", "math.", "libdevice.", "np.", "numpy."}) {
    if (word.starts_with(other)) return false;
  }
  return true;  // a function of torch's, or a tensor's method
}

}  // namespace

std::string text_rule(std::string_view source) {
  std::string text = without_prose(source);
  std::set<std::string, std::less<>> kernels;
  bool is_jit = false, defines = false;
  for (const Word& word : words_of(text)) {
    if (defines) {
      defines = false;
      if (is_jit) {
        kernels.insert(word.text);
        const size_t end = block_end(text, word.at);
        for (size_t i = word.at; i < end; ++i) {
          if (text[i] != '\n') text[i] = ' ';
        }
      }
      is_jit = false;
    } else if (word.decorates) {
      is_jit |= word.text == "triton.jit" || word.text == "jit";
    } else if (word.is_first && word.text == "def") {
      defines = true;
    } else if (word.is_first && word.text == "class") {
      is_jit = false;
    }
  }
  if (kernels.empty()) return "there is no function with @triton.jit";
  bool launches = false;
  for (const Word& word : words_of(text)) {
    launches |= word.next == '[' && kernels.contains(word.text);
    if (word.text == "@") return "PyTorch multiplies by @";
    if (word.next == '(' && is_pytorchs(word.text)) return "PyTorch is called: " + word.text;
  }
  return launches ? "" : "no kernel is launched";
}

}  // namespace kw
