// Limits on products of free sizes that no assignment exceeds. Proposals are made from them
// (docs/synthesis.md, "Dims").
#pragma once

#include <optional>
#include <vector>

#include "synth/sizes/size_problem.h"

namespace kw {

struct Bound {
  std::vector<int> degree;  // of each free size; all are negative for a lower limit on a product
  double log2_limit = 0;
  double limit = 1;
};

// What a free size may be in a part of the assignments. A size of few values keeps all of them.
struct Range {
  int64_t low = 1, high = 1;
};
using Box = std::vector<Range>;
Box whole_box(const SizeProblem& problem);

// Returns the bounds on elements, memory and FLOPs of the assignments of a box.
std::vector<Bound> upper_bounds(const SizeProblem& problem, const Box& box);

// Returns the bounds that FLOPs of at least `low_flops` set; `above` are the upper bounds. If all
// other products at their most leave something to a product, it is no less than that. Returns
// nothing if the box has no such FLOPs.
std::optional<std::vector<Bound>> lower_bounds(const SizeProblem& problem,
                                               const std::vector<Bound>& above, const Box& box,
                                               double low_flops);

// Cuts off the parts of the box that have no assignment within the bounds. Returns false if nothing
// is left.
bool narrow(const SizeProblem& problem, const std::vector<const Bound*>& bounds, Box& box);

}  // namespace kw
