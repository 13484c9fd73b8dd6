#include "report/markup/markup.h"

#include <cassert>
#include <cstdint>
#include <cstdio>

namespace kw {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;  // 0: not valid UTF-8
};

// Decodes one code point; overlong forms, surrogates and values past U+10FFFF are invalid.
CodePoint decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  uint32_t value = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

// Returns whether a character changes the order or the width of the text around it. Such characters
// make source look different from what it is.
bool is_deceptive(uint32_t c) {
  return (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0x061C || c == 0xFEFF;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = decode(text.substr(i));
    const size_t length = c.bytes ? c.bytes : 1;
    if (c.bytes == 0) {
      out += kReplacement;
    } else if (c.value == '\r') {
      if (i + 1 == text.size() || text[i + 1] != '\n') out += '\n';
    } else if ((c.value < 0x20 && c.value != '\n' && c.value != '\t') ||
               (c.value >= 0x7F && c.value < 0xA0)) {
      out += kReplacement;
    } else if (is_deceptive(c.value)) {
      char name[16];
      std::snprintf(name, sizeof(name), "[U+%04X]", static_cast<unsigned>(c.value));
      out += name;
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : clean_text(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void Markup::open(std::string_view tag, const Attributes& attributes, std::string_view end) {
  out_ += '<';
  out_ += tag;
  for (const Attribute& attribute : attributes) {
    out_ += ' ';
    out_ += attribute.name;
    out_ += "=\"" + escape_html(attribute.value) + '"';
  }
  out_ += end;
}

void Markup::close() {
  out_ += "</" + stack_.back() + ">";
  stack_.pop_back();
}

Markup::Scope Markup::element(std::string_view tag, const Attributes& attributes) {
  open(tag, attributes, ">");
  stack_.emplace_back(tag);
  return Scope(*this);
}

void Markup::leaf(std::string_view tag, std::string_view text, const Attributes& attributes) {
  const auto scope = element(tag, attributes);
  out_ += escape_html(text);
}

void Markup::empty(std::string_view tag, const Attributes& attributes) {
  open(tag, attributes, "/>");
}

void Markup::text(std::string_view text) { out_ += escape_html(text); }

const std::string& Markup::str() const {
  assert(stack_.empty());
  return out_;
}

void number_cell(Markup& out, const std::string& text, const std::string& style) {
  out.leaf("td", text, {{"class", style.empty() ? "number" : "number " + style}});
}

}  // namespace kw
