// place_graph() of program_graph.h: a layered drawing in two levels.
//
// First each frame is laid out alone. It has ports on its upper and lower sides, where values enter
// and leave. Then frames and the boxes outside of frames are laid out together, and the pieces of
// each edge are joined at the ports.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/graph/program_graph.h"

namespace kw {
namespace {

constexpr double kMargin = 12, kFramePadding = 12, kGroupTitleCharacter = 7.2;
constexpr LayerGaps kInside{18, 26}, kOutside{26, 34};

// One drawing under construction: its boxes and its edges, equal ones kept once.
struct Level {
  std::vector<LayeredNode> nodes;
  std::vector<LayeredEdge> edges;
  std::map<std::tuple<int, double, int, double>, int> known;
  LayeredLayout layout;

  int add(const LayeredNode& node) {
    nodes.push_back(node);
    return static_cast<int>(nodes.size()) - 1;
  }
  int connect(const LayeredEdge& edge) {
    const auto [it, fresh] = known.try_emplace({edge.from, edge.from_x, edge.to, edge.to_x},
                                               static_cast<int>(edges.size()));
    if (fresh) edges.push_back(edge);
    return it->second;
  }
};

using Tab = std::pair<int, int>;  // node, tab of that node

struct Frame {
  Level level;
  std::map<int, int> items;           // node -> item of the level
  std::map<Tab, int> entries, exits;  // values that come in, that go out -> item of the level
};

class Placer {
 public:
  explicit Placer(ProgramGraph& graph) : graph_(graph) {}

  void run() {
    while (drop_tangled_frame()) {
    }
    fill_frames();
    lay_out_frames();
    lay_out_outside();
    place_boxes();
    for (size_t e = 0; e < graph_.edges.size(); ++e) graph_.edges[e].route = route(e);
  }

 private:
  struct Pieces {
    int inside_source = -1, outside = -1, inside_target = -1;  // edges of the levels
  };

  // The frame a node is in, or -1.
  int frame_of(int node) const {
    const int g = graph_.nodes[node].group;
    return g >= 0 && graph_.groups[g].framed ? g : -1;
  }
  bool within_frame(const GraphEdge& e) const {
    return frame_of(e.from) >= 0 && frame_of(e.from) == frame_of(e.to);
  }
  // What the node is on the outside: its frame, or itself.
  int unit_of(int node) const {
    const int frame = frame_of(node);
    return frame >= 0 ? static_cast<int>(graph_.nodes.size()) + frame : node;
  }

  bool drop_tangled_frame();
  void fill_frames();
  void lay_out_frames();
  void lay_out_outside();
  void place_boxes();
  std::vector<Point> route(size_t edge) const;

  LayeredNode item(int node) const {
    const GraphNode& n = graph_.nodes[node];
    return {n.width, n.height + (n.tabs.empty() ? 0 : kTabHeight)};
  }
  double tab_centre(int node, int tab) const {
    const GraphTab& t = graph_.nodes[node].tabs[tab];
    return t.x + t.width / 2;
  }
  double entry_centre(int node) const { return graph_.nodes[node].width / 2; }
  // Where a port of a frame is, from the frame's left side.
  double port_x(int frame, int port) const {
    return frames_.at(frame).level.layout.nodes[port].x + left_space(frame);
  }
  double frame_width(int g) const {
    const double title =
        kGroupTitleCharacter * static_cast<double>(code_points(graph_.groups[g].title));
    return std::max(frames_.at(g).level.layout.width, title) + 2 * kFramePadding;
  }
  // Room for the title above the uppermost box; ports have no height of their own.
  double top_space(int g) const {
    const Frame& frame = frames_.at(g);
    double highest = frame.level.layout.height;
    for (const auto& [node, at] : frame.items) {
      highest = std::min(highest, frame.level.layout.nodes[at].y);
    }
    return std::max(0.0, kFrameTitle - highest);
  }
  double bottom_space(int g) const {
    const Frame& frame = frames_.at(g);
    double lowest = 0;
    for (const auto& [node, at] : frame.items) {
      lowest = std::max(lowest, frame.level.layout.nodes[at].y + frame.level.nodes[at].height);
    }
    return std::max(0.0, kFramePadding - (frame.level.layout.height - lowest));
  }
  double left_space(int g) const { return (frame_width(g) - frames_.at(g).level.layout.width) / 2; }

  ProgramGraph& graph_;
  std::map<int, Frame> frames_;  // by group
  Level outside_;
  std::map<int, int> outside_items_;  // unit -> item
  std::vector<Pieces> pieces_;        // by edge
};

// Finds a frame that a value leaves and comes back to, and takes it off.
bool Placer::drop_tangled_frame() {
  std::map<int, std::set<int>> next;
  for (const GraphEdge& e : graph_.edges) {
    if (unit_of(e.from) != unit_of(e.to)) next[unit_of(e.from)].insert(unit_of(e.to));
  }
  for (size_t g = 0; g < graph_.groups.size(); ++g) {
    if (!graph_.groups[g].framed) continue;
    const int unit = static_cast<int>(graph_.nodes.size() + g);
    std::set<int> reached;
    std::vector<int> open{unit};
    while (!open.empty()) {
      const int from = open.back();
      open.pop_back();
      for (int to : next[from]) {
        if (reached.insert(to).second) open.push_back(to);
      }
    }
    if (!reached.count(unit)) continue;
    graph_.groups[g].framed = false;
    return true;
  }
  return false;
}

void Placer::fill_frames() {
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    const int node = static_cast<int>(i);
    if (const int g = frame_of(node); g >= 0) {
      Frame& frame = frames_[g];
      frame.items[node] = frame.level.add(item(node));
    }
  }
  for (size_t g = 0; g < graph_.groups.size(); ++g) {
    if (!frames_.count(static_cast<int>(g))) graph_.groups[g].framed = false;
  }
  for (const GraphEdge& e : graph_.edges) {
    Pieces& pieces = pieces_.emplace_back();
    const int source = frame_of(e.from), target = frame_of(e.to);
    const double tab = tab_centre(e.from, e.tab);
    if (within_frame(e)) {
      Frame& f = frames_[source];
      pieces.inside_source =
          f.level.connect({f.items[e.from], f.items[e.to], tab, entry_centre(e.to)});
      continue;
    }
    if (source >= 0) {
      Frame& f = frames_[source];
      const auto [exit, fresh] = f.exits.try_emplace({e.from, e.tab}, 0);
      if (fresh) exit->second = f.level.add({0, 0, LayeredNode::Rank::kLast});
      pieces.inside_source = f.level.connect({f.items[e.from], exit->second, tab, 0});
    }
    if (target >= 0) {
      Frame& f = frames_[target];
      const auto [entry, fresh] = f.entries.try_emplace({e.from, e.tab}, 0);
      if (fresh) entry->second = f.level.add({0, 0, LayeredNode::Rank::kFirst});
      pieces.inside_target = f.level.connect({entry->second, f.items[e.to], 0, entry_centre(e.to)});
    }
  }
}

void Placer::lay_out_frames() {
  for (auto& [g, frame] : frames_) {
    frame.level.layout = layout_layers(frame.level.nodes, frame.level.edges, kInside);
    GraphGroup& group = graph_.groups[g];
    group.width = frame_width(g);
    group.height = top_space(g) + frame.level.layout.height + bottom_space(g);
  }
}

void Placer::lay_out_outside() {
  const int count = static_cast<int>(graph_.nodes.size());
  for (int node = 0; node < count; ++node) {
    const int unit = unit_of(node);
    if (outside_items_.count(unit)) continue;
    if (unit < count) {
      outside_items_[unit] = outside_.add(item(node));
    } else {
      const GraphGroup& group = graph_.groups[unit - count];
      outside_items_[unit] = outside_.add({group.width, group.height});
    }
  }
  for (size_t i = 0; i < graph_.edges.size(); ++i) {
    const GraphEdge& e = graph_.edges[i];
    if (within_frame(e)) continue;
    const int source = frame_of(e.from), target = frame_of(e.to);
    const double from_x = source >= 0 ? port_x(source, frames_[source].exits[{e.from, e.tab}])
                                      : tab_centre(e.from, e.tab);
    const double to_x =
        target >= 0 ? port_x(target, frames_[target].entries[{e.from, e.tab}]) : entry_centre(e.to);
    pieces_[i].outside = outside_.connect(
        {outside_items_[unit_of(e.from)], outside_items_[unit_of(e.to)], from_x, to_x});
  }
  outside_.layout = layout_layers(outside_.nodes, outside_.edges, kOutside);
  graph_.width = outside_.layout.width + 2 * kMargin;
  graph_.height = outside_.layout.height + 2 * kMargin;
}

void Placer::place_boxes() {
  const int count = static_cast<int>(graph_.nodes.size());
  for (auto& [g, frame] : frames_) {
    const Point& corner = outside_.layout.nodes[outside_items_[count + g]];
    graph_.groups[g].x = corner.x + kMargin;
    graph_.groups[g].y = corner.y + kMargin;
  }
  for (int i = 0; i < count; ++i) {
    GraphNode& node = graph_.nodes[i];
    if (const int g = frame_of(i); g >= 0) {
      const Point& corner = frames_[g].level.layout.nodes[frames_[g].items[i]];
      node.x = corner.x + graph_.groups[g].x + left_space(g);
      node.y = corner.y + graph_.groups[g].y + top_space(g);
    } else {
      const Point& corner = outside_.layout.nodes[outside_items_[i]];
      node.x = corner.x + kMargin;
      node.y = corner.y + kMargin;
    }
  }
}

std::vector<Point> Placer::route(size_t edge) const {
  std::vector<Point> out;
  const auto append = [&](const std::vector<Point>& piece, double x, double y) {
    for (const Point& p : piece) {
      const Point moved{p.x + x, p.y + y};
      if (out.empty() || out.back() != moved) out.push_back(moved);
    }
  };
  const auto append_inside = [&](int g, int piece) {
    const GraphGroup& group = graph_.groups[g];
    append(frames_.at(g).level.layout.routes[piece], group.x + left_space(g),
           group.y + top_space(g));
  };
  const GraphEdge& e = graph_.edges[edge];
  const Pieces& pieces = pieces_[edge];
  if (pieces.inside_source >= 0) append_inside(frame_of(e.from), pieces.inside_source);
  if (pieces.outside >= 0) append(outside_.layout.routes[pieces.outside], kMargin, kMargin);
  if (pieces.inside_target >= 0) append_inside(frame_of(e.to), pieces.inside_target);
  return out;
}

}  // namespace

void place_graph(ProgramGraph& graph) { Placer(graph).run(); }

}  // namespace kw
