// Layered drawing of a directed acyclic graph, top to bottom (Sugiyama, Tagawa and Toda, 1981).
//
// Nodes get layers by longest path. An edge that skips layers gets a bend in each of them. Sweeps
// that reduce crossings find the order within layers, and horizontal positions are the
// least-squares ones that keep that order. Edges move sideways only between layers, so that none
// passes through a box. A pure function: equal arguments give equal drawings. Units: pixels.
#pragma once

#include <vector>

namespace kw {

struct Point {
  double x = 0, y = 0;
  bool operator==(const Point&) const = default;
};

struct LayeredNode {
  enum class Rank { kFree, kFirst, kLast };  // pinned to the first or to the last layer
  double width = 0, height = 0;
  Rank rank = Rank::kFree;
};

// From the lower side of one node to the upper side of another; the offsets are measured from the
// left ends. Edges that arrive at one point are spread apart.
struct LayeredEdge {
  int from = 0, to = 0;
  double from_x = 0, to_x = 0;
};

struct LayerGaps {
  double across = 22;  // between neighbours
  double down = 34;    // between layers
};

struct LayeredLayout {
  std::vector<Point> nodes;                // upper left corners
  std::vector<std::vector<Point>> routes;  // for each edge, corner points from end to end
  double width = 0, height = 0;
};

LayeredLayout layout_layers(const std::vector<LayeredNode>& nodes,
                            const std::vector<LayeredEdge>& edges, const LayerGaps& gaps = {});

}  // namespace kw
