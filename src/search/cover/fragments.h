// Finds the groups of forward steps that are worth offering to a policy.
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

struct FragmentLimits {
  int max_steps = 24;        // computing steps in a fragment; views come on top
  int max_fragments = 4000;  // the enumeration stops there, small fragments first
  bool with_views = false;   // views at the border belong to the fragment if nothing else uses them
};

// Returns connected convex sets of forward steps (ascending indices). Each has at least one
// computing step, and none that reads the generator or writes in place. A view at the border costs
// nothing either way. Models that know operators by how programs use them may want such views:
// avg_pool1d is an avg_pool2d between two views. The order is by size, then by position, and
// deterministic.
std::vector<std::vector<int>> enumerate_fragments(const Task& task, const FragmentLimits& limits);

}  // namespace kw
