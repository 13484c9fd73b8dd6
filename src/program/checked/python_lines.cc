#include "program/checked/python_lines.h"

#include <algorithm>
#include <string>

#include "formats/base/error.h"
#include "formats/tokens/python_tokens.h"

namespace kw {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw InputError("export: a kernel's source has " + what);
}

// Returns the end of the string whose first quote is text[at].
size_t end_of_string(std::string_view text, size_t at) {
  const std::string three(3, text[at]);
  const bool is_long = text.substr(at, 3) == three;
  const std::string_view quotes = std::string_view(three).substr(0, is_long ? 3 : 1);
  for (size_t i = at + quotes.size(); i < text.size(); ++i) {
    if (text.substr(i, quotes.size()) == quotes) return i + quotes.size();
    if (text[i] == '\n' && !is_long) break;
    if (text[i] == '\\') ++i;
  }
  refuse("a string that does not end");
}

// Refuses an f-string with quotes or backslashes inside, or with unbalanced braces: from
// Python 3.12 on, a quote inside of braces begins another string.
void check_format(std::string_view text) {
  const size_t quotes = text.size() >= 6 && text[1] == text[0] ? 3 : 1;
  int open = 0;
  for (const char c : text.substr(quotes, text.size() - 2 * quotes)) {
    open += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (open < 0 || c == '"' || c == '\'' || c == '\\' || c == '#') open = -1;
    if (open < 0) break;
  }
  if (open != 0) refuse("an f-string with quotes, backslashes or braces of its own");
}

// Whether a string is formatted, by the word right before it ("rf", "F"). Python 3.14 has "t" too.
bool is_format(std::string_view word) {
  return word.size() <= 2 && word.find_first_of("fFtT") != std::string_view::npos;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<LogicalLine> lines() {
    while (at_ < text_.size()) step();
    if (depth_ > 0) refuse("a bracket that does not close");
    end_line();
    return std::move(lines_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\n' && depth_ == 0) {
      end_line();
      line_.begin = ++at_;
    } else if (c == '\n' || c == ' ' || c == '\t') {
      ++at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\\') {
      const bool continues = text_.substr(at_, 2) == "\\\n" && !line_.tokens.empty();
      if (!continues) refuse("a backslash that continues no line");
      at_ += 2;
    } else {
      token(c);
    }
  }

  void token(char c) {
    const size_t begin = at_;
    if (c == '"' || c == '\'') {
      at_ = end_of_string(text_, begin);
      const bool adjacent =
          !line_.tokens.empty() &&
          line_.tokens.back().data() + line_.tokens.back().size() == text_.data() + begin;
      if (adjacent && is_format(line_.tokens.back()))
        check_format(text_.substr(begin, at_ - begin));
    } else if (continues_name(c)) {
      while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    } else {
      ++at_;
      depth_ += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      if (depth_ < 0) refuse("a bracket that was not opened");
    }
    line_.tokens.push_back(text_.substr(begin, at_ - begin));
  }

  void end_line() {
    line_.end = at_;
    line_.indented =
        line_.begin < text_.size() && (text_[line_.begin] == ' ' || text_[line_.begin] == '\t');
    if (!line_.tokens.empty()) lines_.push_back(line_);
    line_ = {};
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  LogicalLine line_;
  std::vector<LogicalLine> lines_;
};

}  // namespace

std::vector<LogicalLine> logical_lines(std::string_view text) { return Reader(text).lines(); }

}  // namespace kw
