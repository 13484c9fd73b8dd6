#include "report/markup/python_colour.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "formats/tokens/python_tokens.h"

namespace kw {
namespace {

constexpr std::array<std::string_view, 38> kKeywords = {
    "False",  "None",     "True",   "and",  "as",   "assert", "async",  "await",    "break", "case",
    "class",  "continue", "def",    "del",  "elif", "else",   "except", "finally",  "for",   "from",
    "global", "if",       "import", "in",   "is",   "lambda", "match",  "nonlocal", "not",   "or",
    "pass",   "raise",    "return", "self", "try",  "while",  "with",   "yield"};

class Painter {
 public:
  Painter(Markup& out, std::string_view text) : out_(out), text_(text) {}

  void paint() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        token("c", std::min(text_.find('\n', at_), text_.size()));
      } else if (const size_t quote = string_start(); quote != std::string_view::npos) {
        token("s", string_end(text_, quote));
      } else if (c == '@' && first_of_line()) {
        token("d", run(at_ + 1, [](char x) { return continues_name(x) || x == '.'; }));
      } else if (starts_name(c)) {
        name();
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        token("n", run(at_, [](char x) { return continues_name(x) || x == '.'; }));
      } else {
        ++at_;
      }
    }
    flush();
  }

 private:
  template <class Predicate>
  size_t run(size_t from, Predicate belongs) const {
    while (from < text_.size() && belongs(text_[from])) ++from;
    return from;
  }

  // Returns the place of the quote if a string begins here (after at most two letters of prefix).
  size_t string_start() const {
    size_t i = at_;
    while (i < text_.size() && i < at_ + 2 &&
           std::string_view("rRbBuUfF").find(text_[i]) != std::string_view::npos) {
      ++i;
    }
    const bool quote = i < text_.size() && (text_[i] == '"' || text_[i] == '\'');
    return quote ? i : std::string_view::npos;
  }

  bool first_of_line() const {
    const size_t before =
        at_ == 0 ? std::string_view::npos : text_.find_last_not_of(" \t", at_ - 1);
    return before == std::string_view::npos || text_[before] == '\n';
  }

  void name() {
    const size_t end = run(at_, continues_name);
    const std::string_view word = text_.substr(at_, end - at_);
    const bool keyword = std::binary_search(kKeywords.begin(), kKeywords.end(), word);
    const char* style = keyword ? "k" : defines_ ? "f" : nullptr;
    defines_ = word == "def" || word == "class";
    if (style) {
      token(style, end);
    } else {
      at_ = end;
    }
  }

  void token(const char* style, size_t end) {
    flush();
    out_.leaf("span", text_.substr(at_, end - at_), {{"class", style}});
    at_ = plain_ = end;
  }

  void flush() {
    out_.text(text_.substr(plain_, at_ - plain_));
    plain_ = at_;
  }

  Markup& out_;
  std::string_view text_;
  size_t at_ = 0;     // next byte to look at
  size_t plain_ = 0;  // start of text that was not written yet
  bool defines_ = false;
};

}  // namespace

void write_python(Markup& out, std::string_view source) {
  const std::string text = clean_text(source);
  Painter(out, text).paint();
}

}  // namespace kw
