// The cheapest way to run a program as fragments and single steps.
#pragma once

#include <cstddef>
#include <vector>

namespace kw {

struct CoverOption {
  std::vector<int> steps;  // ascending, convex
  double seconds = 0;
};

struct Cover {
  std::vector<int> options;  // indices of the options used
  double seconds = 0;        // of all of them and of the steps left over
};

// Dynamic programming over down-sets of the DAG: a state is the set of steps done; it grows by an
// option (or a single step at step_seconds) whose dependencies are all done. So fragments that
// depend on each other never meet in a cover. Of the orders in which a cover can be run only one
// counts: what runs the first step that is left comes next, and before it what that waits for.
// Branches that do not meet are so gone through one after another. Exact while no layer holds more
// than `beam` states; then the cheapest `beam` of a layer are kept. Steps stand behind what they
// depend on and may number up to 4096.
Cover best_cover(const std::vector<std::vector<int>>& dependencies,
                 const std::vector<double>& step_seconds, const std::vector<CoverOption>& options,
                 size_t beam = 2048);

}  // namespace kw
