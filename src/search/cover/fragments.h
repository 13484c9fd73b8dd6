// Which groups of forward steps are worth offering to a policy.
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

struct FragmentLimits {
  int max_steps = 24;        // computing steps in a fragment; views come on top
  int max_fragments = 4000;  // the enumeration stops there, small fragments first
  bool with_views = false;   // at the border, where nothing else has to do with them
};

// Connected convex sets of forward steps (ascending indices), each with at least one computing
// step, none that reads the generator or writes in place. A view at the border is free either way;
// models that know operators by how programs use them (avg_pool1d is an avg_pool2d between two
// views) may want them. Ordered by size, then by position; deterministic.
std::vector<std::vector<int>> enumerate_fragments(const Task& task, const FragmentLimits& limits);

}  // namespace kw
