// Upper limits on products of free sizes, which no assignment passes: what the proposals are made
// from (docs/synthesis.md, "Dims").
#pragma once

#include <utility>
#include <vector>

#include "synth/size_problem.h"

namespace kw {

struct Bound {
  std::vector<int> degree;  // of each free size; of a lower limit on a product all are negative
  double log2_limit = 0;
  double limit = 1;
};

struct Bounds {
  std::vector<Bound> above;  // on elements, memory and FLOPs
  // Of each monomial that may lead: that it does, where FLOPs reach the window's lower end.
  std::vector<std::pair<int, Bound>> leading;
};

Bounds find_bounds(const SizeProblem& problem, double low_flops);

}  // namespace kw
