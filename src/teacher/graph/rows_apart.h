// Puts what rows are reduced to in memory before values of full size are made of it. A kernel of
// rows walks them in one order. Results may be in memory in another order than what they are made
// of, as in a group norm that reads one layout and writes another. Then a kernel that goes element
// by element can walk both at once.
#pragma once

#include <optional>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// Returns the graph in which results of full size read what they need of reductions from scratch
// memory. Returns nothing if there are no such results, or if there are products, convolutions or
// scans. A pure function.
std::optional<Graph> rows_apart(const Graph& graph);

}  // namespace kw::teacher
