// What a shaped skeleton's sizes must satisfy, in compiled form: free sizes, the sizes that follow
// from them, ranges, and products (elements and FLOPs) under limits. All of these grow with every
// free size.
#pragma once

#include <cstdint>
#include <vector>

#include "synth/sizes/shapes.h"

namespace kw {

struct DimsLimits {
  double tensor = 0x1p30;  // elements of any tensor
  double total = 0x1p32;   // elements of all tensors
  double low_flops = 0x1p34, high_flops = 0x1p35;
  // Halves low_flops until it can be reached, as the published driver does. Otherwise a quarter of
  // what can be reached takes its place, if that is less.
  bool halve_low = false;
  int64_t tries = 1'000'000;  // before a draw is given up
  // Tries before assignments are divided, and between two divisions.
  int64_t tries_for_all = 100, tries_for_part = 200;
  // Gives each assignment the weight of the product of 1 / x over its free sizes x, instead of 1.
  // Remainders do not count.
  bool log_measure = false;
};

class SizeProblem {
 public:
  SizeProblem(const ShapedSkeleton& skeleton, const DimsLimits& limits);

  // Returns whether it is proved that there is no assignment.
  bool empty() const { return empty_; }
  const DimsLimits& limits() const { return limits_; }

  // A size that is free, and what it may be.
  struct Free {
    int64_t low, high;
    std::vector<int64_t> values;  // if not empty: the only values, in order
    int64_t count() const;
    int64_t at(int64_t i) const;
    // Returns whether the size has few values: it is drawn uniformly, and is in no bound on
    // products.
    bool few() const;
  };
  const std::vector<Free>& free() const { return free_; }

  // How fill() computes a size from others. Slots are all sizes: the free ones, then those that
  // fill() writes.
  struct Instruction {
    Sizes::Kind kind;
    int a, b;
    int64_t add, div, mul, plus;
  };
  const std::vector<Instruction>& code() const { return code_; }
  size_t slots() const { return free_.size() + code_.size(); }
  void fill(std::vector<int64_t>& slots) const;
  // Each slot's value if all free sizes are least, and if all are most.
  const std::vector<int64_t>& least() const { return least_; }
  const std::vector<int64_t>& most() const { return most_; }

  // A product of slots, in tensors and FLOPs.
  struct Monomial {
    std::vector<int> slots;
    double largest = 0;  // constant factor of the largest such tensor
    double total = 0;    // sum of the constant factors of all such tensors
    double flops = 0;    // sum of the constant factors of FLOPs terms
  };
  const std::vector<Monomial>& monomials() const { return monomials_; }

  struct Check {
    int slot;
    int64_t low, high;
  };
  const std::vector<Check>& checks() const { return checks_; }

  struct Product {  // factor times a monomial
    int monomial = -1;
    double factor = 0;
  };
  // FLOPs: the coefficient times the larger product.
  struct Term {
    double coefficient = 0;
    Product a, b;  // b.monomial -1: `a` alone
  };
  const std::vector<Term>& terms() const { return terms_; }

  struct Dim {
    int slot = -1;  // -1: a constant
    int64_t constant = 1;
  };
  const std::vector<std::vector<Dim>>& tensors() const { return tensors_; }

  // Returns whether all slots are in their ranges.
  bool checked(const std::vector<int64_t>& slots) const;
  // Returns false if checked slots exceed a limit on elements. Writes the FLOPs.
  bool bounded(const std::vector<int64_t>& slots, double& flops) const;

  std::vector<std::vector<int64_t>> shapes(const std::vector<int64_t>& slots) const;

 private:
  void compile(const ShapedSkeleton& skeleton);
  int slot(const Sizes& sizes, SizeId size);
  Product product(const Sizes& sizes, const Shape& shape);
  void add_check(int slot, int64_t low, int64_t high);
  void add_tensor(const Sizes& sizes, const Shape& shape);
  void add_flops(const Sizes& sizes, const FlopsTerm& flops);
  bool tighten();
  bool tighten(const Check& check);
  bool set_extremes();

  DimsLimits limits_;
  std::vector<Free> free_;
  std::vector<Instruction> code_;
  std::vector<int> slot_of_;  // by resolved SizeId; -1: none
  std::vector<Check> checks_;
  std::vector<Monomial> monomials_;
  std::vector<Term> terms_;
  std::vector<std::vector<Dim>> tensors_;
  std::vector<int64_t> least_, most_;
  bool empty_ = false;
};

}  // namespace kw
