// Writes HTML and inline SVG: elements are balanced and text is escaped by construction.
//
// Markup owns the document it builds; one thread. Text may be any bytes: invalid UTF-8 and control
// characters are replaced, and characters that reorder what a reader sees are spelled out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kw {

// Valid UTF-8 with "\n" line ends and no control characters but "\n" and "\t". Idempotent.
std::string clean_text(std::string_view text);
// clean_text, fit for element content and for quoted attribute values.
std::string escape_html(std::string_view text);

struct Attribute {
  std::string_view name;  // a constant of ours, never text from outside
  std::string value;
};
using Attributes = std::vector<Attribute>;

class Markup {
 public:
  // Closes its element when it goes out of scope.
  class [[nodiscard]] Scope {
   public:
    explicit Scope(Markup& markup) : markup_(&markup) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { markup_->close(); }

   private:
    Markup* markup_;
  };

  Scope element(std::string_view tag, const Attributes& attributes = {});
  // An element that holds text alone.
  void leaf(std::string_view tag, std::string_view text, const Attributes& attributes = {});
  // An element without content: <meta ... />, <rect ... />.
  void empty(std::string_view tag, const Attributes& attributes = {});
  void text(std::string_view text);
  // Appends markup without escaping it; for constants of the program only.
  void trusted(std::string_view markup) { out_ += markup; }

  // The document so far. Every scope must have ended.
  const std::string& str() const;

 private:
  void open(std::string_view tag, const Attributes& attributes, std::string_view end);
  void close();

  std::string out_;
  std::vector<std::string> stack_;
};

// Writes a cell of a table that holds a figure; `style` is a further class of it.
void number_cell(Markup& out, const std::string& text, const std::string& style = "");

}  // namespace kw
