// Takes apart what one kernel cannot hold: a fragment's graph becomes graphs that are written one
// after another. Values that pass from one to the next are in scratch memory
// (Builder::materialized). Everything here is a pure function.
#pragma once

#include <vector>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// Returns the graph with these of its outputs only.
Graph with_outputs(const Graph& graph, const std::vector<size_t>& outputs);

// Returns graphs in the order in which they run: each reads scratch memory of earlier ones alone.
std::vector<Graph> levels(const Graph& graph);

// Returns groups of outputs that have no computation in common.
std::vector<Graph> independent_parts(const Graph& graph);

// Returns whether a kernel of element-by-element stores may write this output right into the
// argument that it replaces. The argument must be read for nothing else, and each element where it
// is written.
bool stored_in_place(const Graph& graph, const Output& output);

}  // namespace kw::teacher
