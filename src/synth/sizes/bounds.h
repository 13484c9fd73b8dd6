// Limits on products of free sizes, which no assignment passes: what the proposals are made from
// (docs/synthesis.md, "Dims").
#pragma once

#include <optional>
#include <vector>

#include "synth/sizes/size_problem.h"

namespace kw {

struct Bound {
  std::vector<int> degree;  // of each free size; of a lower limit on a product all are negative
  double log2_limit = 0;
  double limit = 1;
};

// What each free size may be in a part of the assignments. Of few values: all of them.
struct Range {
  int64_t low = 1, high = 1;
};
using Box = std::vector<Range>;
Box whole_box(const SizeProblem& problem);

// On elements, memory and FLOPs of the assignments of a box.
std::vector<Bound> upper_bounds(const SizeProblem& problem, const Box& box);

// What FLOPs of `low_flops` ask of them; `above` are their upper bounds. Where all
// other products at their most leave something to one, it is no less than that. Nothing where the
// box has no such FLOPs.
std::optional<std::vector<Bound>> lower_bounds(const SizeProblem& problem,
                                               const std::vector<Bound>& above, const Box& box,
                                               double low_flops);

// Cuts off what the bounds leave to no assignment of the box. False where nothing is left.
bool narrow(const SizeProblem& problem, const std::vector<const Bound*>& bounds, Box& box);

}  // namespace kw
