// An expression of a kernel's integers, which knows how tightly its text binds.
//
// Operators put brackets where Python needs them and nowhere else, and fold 0 and 1, so that no
// caller looks at texts: `rest % rows`, `tile * block + offset`. Division is Python's `//`. An Expr
// is a value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace kw::teacher {

class Expr {
 public:
  // A name, or a call with all its brackets: nothing binds more tightly.
  Expr(std::string name) : text_(std::move(name)) {}        // NOLINT(google-explicit-constructor)
  Expr(const char* name) : text_(name) {}                   // NOLINT(google-explicit-constructor)
  Expr(int64_t number) : text_(std::to_string(number)) {}   // NOLINT(google-explicit-constructor)
  Expr(int number) : Expr(static_cast<int64_t>(number)) {}  // NOLINT(google-explicit-constructor)

  const std::string& text() const { return text_; }
  bool is(int64_t number) const { return text_ == std::to_string(number); }

  // Returns the value in brackets, unless it is a name: for texts that have more brackets than
  // Python needs.
  Expr bracketed() const {
    return level_ == Level::kName ? *this : Expr("(" + text_ + ")", Level::kName);
  }
  // Returns the value with what binds to its end, such as "[:, None]" or ".to(tl.int64)". An empty
  // suffix changes nothing.
  Expr with(const std::string& suffix) const {
    return suffix.empty() ? *this : Expr(bracketed().text_ + suffix, Level::kName);
  }

  // A sum as right operand needs no brackets: integers may be added in any order.
  friend Expr operator+(const Expr& a, const Expr& b) {
    if (a.is(0)) return b;
    return b.is(0) ? a : Expr(a.text_ + " + " + b.text_, Level::kSum);
  }
  friend Expr operator-(const Expr& a, const Expr& b) {
    return b.is(0) ? a : joined(a, " - ", b, Level::kSum);
  }
  friend Expr operator*(const Expr& a, const Expr& b) {
    if (a.is(1)) return b;
    if (b.is(1)) return a;
    return a.is(0) || b.is(0) ? Expr(0) : joined(a, " * ", b, Level::kProduct);
  }
  friend Expr operator/(const Expr& a, const Expr& b) {
    return b.is(1) ? a : joined(a, " // ", b, Level::kProduct);
  }
  friend Expr operator%(const Expr& a, const Expr& b) {
    return b.is(1) ? Expr(0) : joined(a, " % ", b, Level::kProduct);
  }

 private:
  enum class Level { kSum, kProduct, kName };
  Expr(std::string text, Level level) : text_(std::move(text)), level_(level) {}

  // Operators of one level apply from left to right, so the right operand must bind more tightly.
  static Expr joined(const Expr& a, const char* op, const Expr& b, Level level) {
    const Expr left = a.level_ < level ? a.bracketed() : a;
    const Expr right = b.level_ <= level ? b.bracketed() : b;
    return {left.text_ + op + right.text_, level};
  }

  std::string text_;
  Level level_ = Level::kName;
};

}  // namespace kw::teacher
