// Finds the cheapest way to run a program as fragments and single steps.
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
  double seconds = 0;        // of these options and of the steps that are left
};

// Returns the best cover, by dynamic programming over down-sets of the DAG. A state is the set of
// steps done. It grows by an option, or a single step at step_seconds, whose dependencies are all
// done. So fragments that depend on each other never meet in a cover. Only one of the orders in
// which a cover can run counts: the first step that is left runs next, and before it what it waits
// for. So branches that do not meet are gone through one after another. The result is exact while
// no layer holds more than `beam` states; of a larger layer the cheapest `beam` states are kept.
// Steps come after what they depend on, and there may be up to 4096.
Cover best_cover(const std::vector<std::vector<int>>& dependencies,
                 const std::vector<double>& step_seconds, const std::vector<CoverOption>& options,
                 size_t beam = 2048);

}  // namespace kw
