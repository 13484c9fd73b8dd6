// What host code calls sizes: expressions over the shapes of arguments and of scratch memory.
#pragma once

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// Names every leaf over the arguments' shapes, as far as these give it. A dimension that a view
// took apart leaves one part open for each other part: those stay numbers (heads, groups).
void name_sizes(Graph& graph);

// The same for a part of a graph: sizes are taken from the scratch memory that the part reads,
// where it has them, as what that was made of is further away. It is allocated by then, as what the
// part does not read may not be.
void name_sizes_nearby(Graph& part);

}  // namespace kw::teacher
