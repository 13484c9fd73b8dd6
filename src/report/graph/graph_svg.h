// A placed program graph as inline SVG.
#pragma once

#include <vector>

#include "report/graph/program_graph.h"
#include "report/markup/markup.h"

namespace kw {

// `step_seconds` (by forward step, may be empty) adds each step's share of their sum. Colours come
// from the page's style sheet: class c0..c7 by group. A frame links to #fragment-<group + 1>.
void write_graph(Markup& out, const ProgramGraph& graph, const StepText& text,
                 const std::vector<double>& step_seconds);

// The colour class of a group.
std::string group_class(int group);

}  // namespace kw
