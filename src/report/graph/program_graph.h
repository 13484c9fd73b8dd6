// The picture of a program as data: boxes, edges between them, and the groups of steps that one
// kernel replaces, all with their places. Pure functions of the task; units are pixels, sized for a
// monospace font of 12 px.
#pragma once

#include <string>
#include <vector>

#include "report/graph/layered_layout.h"
#include "report/markup/step_text.h"

namespace kw {

// A value that leaves a box, shown as a small tab on the box's lower side.
struct GraphTab {
  ValueId value = -1;
  std::string label;        // "fp32 4×8"
  double x = 0, width = 0;  // from the box's left side
};

struct GraphNode {
  enum class Kind { kInput, kStep, kOutput };
  Kind kind = Kind::kStep;
  int step = -1;  // forward step of kStep
  int group = -1;
  std::string title;
  std::vector<std::string> rows;  // attributes, parameters
  std::vector<GraphTab> tabs;
  bool faint = false;                          // a view: no work
  double x = 0, y = 0, width = 0, height = 0;  // the box; tabs hang below it
};

struct GraphEdge {
  int from = 0, tab = 0, to = 0;
  std::vector<Point> route;  // from the tab's lower side to the box's upper side
};

// Steps that one kernel replaces, enclosed by a frame.
struct GraphGroup {
  std::vector<int> steps;  // forward steps
  std::string title;
  bool framed = true;  // false when no frame can hold these steps and no others
  double x = 0, y = 0, width = 0, height = 0;
};

struct ProgramGraph {
  std::vector<GraphNode> nodes;  // inputs, steps in order, outputs
  std::vector<GraphEdge> edges;
  std::vector<GraphGroup> groups;
  double width = 0, height = 0;
};

constexpr double kTabHeight = 15, kTitleHeight = 20, kRowHeight = 14, kBoxPadding = 8;
constexpr double kFrameTitle = 22;

// The boxes and edges of text.task().forward, placed. Steps named in two groups belong to the
// first; indices that are no steps are left out.
ProgramGraph draw_program(const StepText& text, std::vector<GraphGroup> groups);

// Gives everything its place: the inside of each frame first, then the frames and the boxes
// outside of frames among each other. Groups that depend on each other lose their frames.
void place_graph(ProgramGraph& graph);

}  // namespace kw
