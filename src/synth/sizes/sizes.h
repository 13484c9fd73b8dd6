// The sizes of a skeleton's tensors as expressions of its free dimensions.
//
// A size is one of these, all monotone in the variables:
//
//   a constant
//   a variable
//   mul * floor((x + add) / div) + plus
//   a + b                    what a cat gives
//   stride * x + offset + r  what a window reads to give x; r is a variable, 0 <= r < stride
//
// In the last form inputs and pairs (x, r) correspond one to one. Rules say which sizes are equal,
// and then a variable is replaced by what it equals. The assignments of the variables that are
// left, within `checks`, correspond one to one to those of the skeleton (docs/synthesis.md). For
// one skeleton and one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kw {

using SizeId = int;

// What is known of the equations so far.
enum class Solved { kYes, kContradiction, kUnsolved };

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

class Sizes {
 public:
  static constexpr int64_t kMost = 8192;  // of any size

  // None; the memory stays.
  void clear();

  SizeId constant(int64_t value);
  SizeId variable(int64_t low = 1);
  // mul * floor((x + add) / div) + plus; div and mul are positive.
  SizeId affine(SizeId x, int64_t add, int64_t div, int64_t mul, int64_t plus);
  SizeId sum(SizeId a, SizeId b);
  // Steps of a window: floor((x + 2 * padding - extent) / stride) + 1, at least one.
  SizeId window(SizeId x, int64_t extent, int64_t stride, int64_t padding);

  void equal(SizeId a, SizeId b);
  void at_least(SizeId x, int64_t low);
  bool is_one(SizeId x) const;

  // Contradictions are proved; kUnsolved: two sizes must agree, and no variable can be replaced.
  Solved solved() const { return solved_; }

  // The rest is for the sampler.
  enum class Kind { kConstant, kVariable, kAffine, kSum, kSplit };
  struct Node {
    Kind kind = Kind::kConstant;
    int64_t add = 0, div = 1, mul = 1, plus = 0;  // `plus`: a constant, or which variable
    SizeId a = -1, b = -1;                        // kSplit: mul * a + plus + b, b the remainder
    bool operator==(const Node&) const = default;
  };
  struct Variable {
    int64_t low = 1, high = kMost;
    std::vector<int64_t> values;  // not empty: these alone
  };
  struct Check {
    SizeId size;
    int64_t low, high;
  };
  // What stands for x now: its own node, or what it was replaced by.
  SizeId resolve(SizeId x) const;
  size_t count() const { return nodes_.size(); }
  const Node& node(SizeId x) const { return nodes_[x]; }
  const Variable& variable_of(SizeId x) const { return variables_[nodes_[x].plus]; }
  const std::vector<Check>& checks() const { return checks_; }
  // Appends the resolved variables that a size depends on.
  void roots(SizeId x, std::vector<SizeId>& found) const;

 private:
  SizeId intern(const Node& node);
  Variable& variable_at(SizeId x) { return variables_[nodes_[x].plus]; }
  SizeId split(SizeId steps, int64_t stride, int64_t offset);
  void replace(SizeId variable, SizeId by);
  bool contains(SizeId x, SizeId variable) const;
  bool within_reach(SizeId x, int64_t low, int64_t high) const;
  // What x is where value_of(variable) is what each variable is.
  int64_t value(SizeId x, const auto& value_of) const;
  int64_t extreme(SizeId x, bool most) const;
  // x grows by at most rate * n + jump where its only variable grows by n.
  struct Growth {
    double rate, jump;
  };
  Growth growth(SizeId x) const;
  void equal_to_constant(SizeId x, int64_t value);
  void equal_floors(SizeId a, SizeId b);
  // x, before it was shifted and divided, is what gives `quotient`.
  void set_quotient(SizeId affine, SizeId quotient);
  bool joinable(SizeId split) const;
  void join_split(SizeId split);
  bool leads_to_free(SizeId x, SizeId other) const;
  void enumerate(SizeId variable, SizeId a, SizeId b);
  void contradiction() { solved_ = Solved::kContradiction; }
  void unsolved() {
    if (solved_ == Solved::kYes) solved_ = Solved::kUnsolved;
  }

  std::vector<Node> nodes_;
  std::vector<SizeId> replaced_;  // by node; -1: it stands for itself
  std::vector<SizeId> known_;     // a hash table of nodes; -1: none
  std::vector<Variable> variables_;
  std::vector<Check> checks_;
  Solved solved_ = Solved::kYes;
};

}  // namespace kw
