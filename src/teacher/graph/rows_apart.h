// What rows are reduced to, put in memory before values of full size are made of it. A kernel of
// rows walks them in one order; where results lie in memory in another order than what they are
// made of (a group norm that reads one layout and writes another), a kernel that goes element by
// element can walk both at once. A pure function.
#pragma once

#include <optional>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// The graph in which results of full size read what they need of reductions from scratch memory.
// Nothing where there are no such results, or where there are products, convolutions or scans.
std::optional<Graph> rows_apart(const Graph& graph);

}  // namespace kw::teacher
