// Names of sizes in host code: expressions over the shapes of arguments and of scratch memory.
#pragma once

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// Names the size of every leaf over the arguments' shapes, as far as these give it. The shape of a
// dimension that a view took apart gives one of its parts; the others stay numbers (heads, groups).
void name_sizes(Graph& graph);

// Does the same for a part of a graph, with sizes from the scratch memory that the part reads if it
// has them. Arguments that this memory was made of are further away in the code. Scratch memory
// that the part does not read may not be allocated yet.
void name_sizes_nearby(Graph& part);

}  // namespace kw::teacher
