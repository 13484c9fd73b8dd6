// Sizes of a shaped skeleton, uniformly over all that satisfy its shape rules, the bounds on
// tensors and memory, and the FLOPs window (docs/synthesis.md, "Dims": the method and its proof).
#pragma once

#include <optional>
#include <vector>

#include "synth/powers.h"
#include "synth/random.h"
#include "synth/shapes.h"

namespace kw {

struct DimsLimits {
  double tensor = 0x1p30;  // elements of any tensor
  double total = 0x1p32;   // elements of all tensors
  double low_flops = 0x1p34, high_flops = 0x1p35;
  int64_t tries = 1'000'000;  // before a draw is given up
  // Before assignments are divided by what leads, if that saves tries; 0: at once, in any case.
  int64_t tries_for_all = 100;
};

class DimsSpace {
 public:
  DimsSpace(const ShapedSkeleton& skeleton, const DimsLimits& limits);
  DimsSpace(const DimsSpace&) = delete;
  DimsSpace& operator=(const DimsSpace&) = delete;

  // No assignment at all: proved.
  bool empty() const { return empty_; }
  // What the window's lower end is set by: the most FLOPs, without the window, that a deterministic
  // ascent finds. (docs/synthesis.md says how near it comes.)
  double most_flops() const { return most_flops_; }
  // min(low_flops, most_flops / 4).
  double low_flops() const { return low_flops_; }

  // Ways to propose: more than one where assignments were divided.
  size_t proposals() const { return proposals_.size(); }

  struct Draw {
    std::vector<std::vector<int64_t>> shapes;  // of the skeleton's tensors
    double flops = 0;
    int64_t tries = 0;
  };
  // Uniform; nothing when the tries are used up.
  std::optional<Draw> draw(Random& random);

  // Sizes that are free, and what each may be, for tests that count all assignments.
  struct Free {
    int64_t low, high;
    std::vector<int64_t> values;
    int64_t count() const;
    int64_t at(int64_t i) const;
  };
  const std::vector<Free>& free() const { return free_; }
  // Whether these values of the free sizes satisfy everything; FLOPs are written.
  bool satisfied(const std::vector<int64_t>& values, double& flops) const;

 private:
  struct Instruction {  // a size that is not free, from those before
    Sizes::Kind kind;
    int a, b;
    int64_t add, div, mul, plus;
  };
  struct Check {
    int slot;
    int64_t low, high;
  };
  // A product of sizes, in tensors' elements and in FLOPs.
  struct Monomial {
    std::vector<int> slots;
    double largest = 0;  // constant factor of the largest such tensor
    double total = 0;    // sum of those of all such tensors
    double flops = 0;    // and of FLOPs terms
  };
  struct Product {  // factor times a monomial
    int monomial = -1;
    double factor = 0;
  };
  struct Term {
    double coefficient = 0;
    Product a, b;  // the larger counts
  };

  int slot(const Sizes& sizes, SizeId size);
  Product product(const Sizes& sizes, const Shape& shape);
  void compile(const ShapedSkeleton& skeleton);
  bool tighten();
  void fill(std::vector<int64_t>& slots) const;
  bool bounded(const std::vector<int64_t>& slots, double& flops, int* largest = nullptr) const;
  bool checked(const std::vector<int64_t>& slots) const;
  void climb();
  struct Line;
  std::vector<Line> lines() const;
  void find_caps();
  struct Cap {
    std::vector<int> degree;  // of each free size
    double log2_limit = 0;
    double limit = 1;
  };
  struct Proposal {
    struct Source {                       // of a free size
      const PowerTable* table = nullptr;  // null: uniform over what it may be, or drawn last
      int64_t low = 1, high = 1;
      double share = 1;
    };
    // A size that is drawn last, uniformly over what the bounds leave to it.
    struct Last {
      int size;
      std::vector<const Cap*> above, below;
    };
    std::vector<Source> sources;
    std::vector<Last> last;
    double top = 1;        // no weight of a proposal is larger
    int leading = -1;      // for assignments whose FLOPs hang most on this monomial; -1: for all
    double log2_mass = 0;  // of what it proposes: proposals share by it
    double up_to = 1;      // those before it and itself
  };
  bool narrow(const std::vector<const Cap*>& caps, Proposal& made) const;
  void choose_last(const std::vector<const Cap*>& caps, Proposal& made) const;
  Proposal propose(const Cap* floor, int leading) const;
  void split_by_leading();
  bool draw_last(const Proposal& proposal, std::vector<int64_t>& slots, double& weight,
                 Random& random) const;

  DimsLimits limits_;
  std::vector<Free> free_;
  std::vector<char> small_;        // free sizes outside the bound: drawn uniformly
  std::vector<Instruction> code_;  // slot i is free_[i], or code_[i - free_.size()]
  std::vector<int> slot_of_;       // by resolved SizeId; -1: none
  std::vector<Check> checks_;
  std::vector<Monomial> monomials_;
  std::vector<Term> terms_;
  struct Dim {
    int slot = -1;  // -1: a constant
    int64_t constant = 1;
  };
  std::vector<std::vector<Dim>> tensors_;
  std::vector<int64_t> least_, most_;  // by slot
  std::vector<Cap> caps_;
  std::vector<std::pair<int, Cap>> floors_;  // of monomials that may lead: 1 / a product is at most
  int terms_with_flops_ = 0;
  std::vector<Proposal> proposals_;  // they refer to caps_ and floors_
  bool divided_ = false;
  double most_flops_ = 0, low_flops_ = 0;
  bool empty_ = false;
};

}  // namespace kw
