#include "report/graph/layered_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace kw {
namespace {

constexpr int kOrderSweeps = 12, kPlaceSweeps = 10;
constexpr double kBendWidth = 8;       // room an edge takes in a layer that it passes
constexpr double kArrivalSpread = 16;  // between edges that arrive at one point

// A node, or a point where an edge passes a layer.
struct Vertex {
  double width = 0, height = 0;
  int layer = 0;
  double x = 0;  // centre
};

// The part of an edge between two neighbouring layers. Offsets are from the centres.
struct Segment {
  int upper = 0, lower = 0;
  double upper_x = 0, lower_x = 0;
  double weight = 1;  // pull towards being vertical
};

// Inversions of a sequence of small numbers, by a Fenwick tree.
int64_t count_inversions(const std::vector<int>& sequence, int limit) {
  std::vector<int> tree(limit + 1, 0);
  int64_t inversions = 0;
  for (size_t seen = 0; seen < sequence.size(); ++seen) {
    int smaller_or_equal = 0;
    for (int i = sequence[seen] + 1; i > 0; i -= i & -i) smaller_or_equal += tree[i];
    inversions += static_cast<int64_t>(seen) - smaller_or_equal;
    for (int i = sequence[seen] + 1; i <= limit; i += i & -i) ++tree[i];
  }
  return inversions;
}

class Layering {
 public:
  Layering(const std::vector<LayeredNode>& nodes, const std::vector<LayeredEdge>& edges,
           const LayerGaps& gaps)
      : nodes_(nodes), edges_(edges), gaps_(gaps) {}

  LayeredLayout run() {
    assign_layers();
    split_edges();
    reduce_crossings();
    place_across();
    for (int pass = 0; pass < 2; ++pass) straighten_bends();
    spread_arrivals();
    return finish();
  }

 private:
  void assign_layers();
  void split_edges();
  void add_segment(int upper, int lower, double upper_x, double lower_x);
  void reduce_crossings();
  void sort_layer(int layer, bool by_upper);
  int64_t crossings() const;
  void place_across();
  void place_layer(int layer, bool by_upper, bool by_lower);
  void straighten_bends();
  std::pair<double, double> free_range(int vertex) const;
  void spread_arrivals();
  LayeredLayout finish() const;

  int layer_count() const { return static_cast<int>(layers_.size()); }

  const std::vector<LayeredNode>& nodes_;
  const std::vector<LayeredEdge>& edges_;
  const LayerGaps gaps_;
  std::vector<Vertex> vertices_;  // nodes first
  std::vector<Segment> segments_;
  std::vector<std::vector<int>> above_, below_;  // segments by lower and by upper vertex
  std::vector<std::vector<int>> paths_;          // for each edge its segments
  std::vector<std::vector<int>> layers_;         // vertices from left to right
  std::vector<int> index_;                       // of a vertex in its layer
};

// Longest path from the top; a node that nothing leads to comes down to its first user.
void Layering::assign_layers() {
  const int count = static_cast<int>(nodes_.size());
  std::vector<std::vector<int>> next(count);
  std::vector<int> waits(count, 0), order;
  for (const LayeredEdge& edge : edges_) {
    next[edge.from].push_back(edge.to);
    ++waits[edge.to];
  }
  const std::vector<int> incoming = waits;
  for (int i = 0; i < count; ++i) {
    vertices_.push_back({nodes_[i].width, nodes_[i].height});
    if (waits[i] == 0) order.push_back(i);
  }
  for (size_t done = 0; done < order.size(); ++done) {
    for (int to : next[order[done]]) {
      vertices_[to].layer = std::max(vertices_[to].layer, vertices_[order[done]].layer + 1);
      if (--waits[to] == 0) order.push_back(to);
    }
  }
  int last = 0;
  for (const Vertex& v : vertices_) last = std::max(last, v.layer);
  for (int i = 0; i < count; ++i) {
    if (nodes_[i].rank == LayeredNode::Rank::kLast) vertices_[i].layer = last;
  }
  for (int i = 0; i < count; ++i) {
    if (incoming[i] > 0 || next[i].empty() || nodes_[i].rank != LayeredNode::Rank::kFree) continue;
    int lowest = last;
    for (int to : next[i]) lowest = std::min(lowest, vertices_[to].layer - 1);
    vertices_[i].layer = lowest;
  }
}

void Layering::add_segment(int upper, int lower, double upper_x, double lower_x) {
  const int bends =
      (upper >= static_cast<int>(nodes_.size())) + (lower >= static_cast<int>(nodes_.size()));
  // Boxes hold their line; long edges give way to them, and are straight where they can be.
  constexpr double kPull[] = {8, 1, 2};
  segments_.push_back({upper, lower, upper_x, lower_x, kPull[bends]});
}

// Edges that leave one point share their way down for as long as they have it in common.
void Layering::split_edges() {
  std::map<std::pair<int, double>, std::vector<std::pair<int, int>>> trunks;  // (bend, segment)
  for (const LayeredEdge& edge : edges_) {
    auto& trunk = trunks[{edge.from, edge.from_x}];
    const double start = edge.from_x - nodes_[edge.from].width / 2;
    const int span = vertices_[edge.to].layer - vertices_[edge.from].layer;
    std::vector<int>& path = paths_.emplace_back();
    for (int i = 0; i + 1 < span; ++i) {
      if (i == static_cast<int>(trunk.size())) {
        const int bend = static_cast<int>(vertices_.size());
        vertices_.push_back({kBendWidth, 0, vertices_[edge.from].layer + 1 + i});
        add_segment(i ? trunk[i - 1].first : edge.from, bend, i ? 0 : start, 0);
        trunk.push_back({bend, static_cast<int>(segments_.size()) - 1});
      }
      path.push_back(trunk[i].second);
    }
    add_segment(span > 1 ? trunk[span - 2].first : edge.from, edge.to, span > 1 ? 0 : start,
                edge.to_x - nodes_[edge.to].width / 2);
    path.push_back(static_cast<int>(segments_.size()) - 1);
  }
  above_.resize(vertices_.size());
  below_.resize(vertices_.size());
  for (size_t s = 0; s < segments_.size(); ++s) {
    above_[segments_[s].lower].push_back(static_cast<int>(s));
    below_[segments_[s].upper].push_back(static_cast<int>(s));
  }
  index_.resize(vertices_.size());
  for (size_t v = 0; v < vertices_.size(); ++v) {
    layers_.resize(std::max(layers_.size(), static_cast<size_t>(vertices_[v].layer) + 1));
    std::vector<int>& layer = layers_[vertices_[v].layer];
    index_[v] = static_cast<int>(layer.size());
    layer.push_back(static_cast<int>(v));
  }
}

int64_t Layering::crossings() const {
  int64_t total = 0;
  for (int layer = 0; layer + 1 < layer_count(); ++layer) {
    std::vector<int> ends;
    for (int v : layers_[layer]) {
      std::vector<int> from_v = below_[v];
      std::stable_sort(from_v.begin(), from_v.end(), [&](int a, int b) {
        const Segment &s = segments_[a], &t = segments_[b];
        return std::pair(s.upper_x, index_[s.lower]) < std::pair(t.upper_x, index_[t.lower]);
      });
      for (int s : from_v) ends.push_back(index_[segments_[s].lower]);
    }
    total += count_inversions(ends, static_cast<int>(layers_[layer + 1].size()));
  }
  return total;
}

// Orders a layer by the mean position of each vertex's neighbours above or below.
void Layering::sort_layer(int layer, bool by_upper) {
  std::vector<std::pair<double, int>> keyed;
  for (int v : layers_[layer]) {
    double sum = 0;
    const std::vector<int>& neighbours = by_upper ? above_[v] : below_[v];
    for (int s : neighbours) {
      const int other = by_upper ? segments_[s].upper : segments_[s].lower;
      const double port = by_upper ? segments_[s].upper_x : segments_[s].lower_x;
      sum += index_[other] + (vertices_[other].width > 0 ? port / vertices_[other].width : 0);
    }
    keyed.emplace_back(neighbours.empty() ? index_[v] : sum / neighbours.size(), v);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < keyed.size(); ++i) {
    layers_[layer][i] = keyed[i].second;
    index_[keyed[i].second] = static_cast<int>(i);
  }
}

void Layering::reduce_crossings() {
  std::vector<std::vector<int>> best = layers_;
  int64_t fewest = crossings();
  for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
    const bool down = sweep % 2 == 0;
    for (int i = 1; i < layer_count(); ++i) sort_layer(down ? i : layer_count() - 1 - i, down);
    const int64_t now = crossings();
    if (now < fewest) {
      fewest = now;
      best = layers_;
    }
  }
  layers_ = best;
  for (const std::vector<int>& layer : layers_) {
    for (size_t i = 0; i < layer.size(); ++i) index_[layer[i]] = static_cast<int>(i);
  }
}

// Moves a layer's vertices to where their segments are most nearly vertical. Minimising the
// weighted squares under a fixed order and least distances is isotonic regression; blocks that
// would overlap are merged and share their mean.
void Layering::place_layer(int layer, bool by_upper, bool by_lower) {
  struct Block {
    double weight, mean;
    int count;
  };
  std::vector<Block> blocks;
  std::vector<double> shift;  // centres at least distance, from the leftmost
  for (int v : layers_[layer]) {
    const double before = shift.empty() ? 0 : vertices_[layers_[layer][shift.size() - 1]].width;
    shift.push_back(
        shift.empty() ? 0 : shift.back() + (before + vertices_[v].width) / 2 + gaps_.across);
    double weight = 0.01, sum = 0.01 * vertices_[v].x;
    const auto pull = [&](const Segment& s, double target) {
      weight += s.weight;
      sum += s.weight * target;
    };
    for (int s : by_upper ? above_[v] : std::vector<int>()) {
      const Segment& segment = segments_[s];
      pull(segment, vertices_[segment.upper].x + segment.upper_x - segment.lower_x);
    }
    for (int s : by_lower ? below_[v] : std::vector<int>()) {
      const Segment& segment = segments_[s];
      pull(segment, vertices_[segment.lower].x + segment.lower_x - segment.upper_x);
    }
    blocks.push_back({weight, sum / weight - shift.back(), 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
      const Block right = blocks.back();
      blocks.pop_back();
      Block& left = blocks.back();
      left.mean =
          (left.mean * left.weight + right.mean * right.weight) / (left.weight + right.weight);
      left.weight += right.weight;
      left.count += right.count;
    }
  }
  size_t i = 0;
  for (const Block& block : blocks) {
    for (int k = 0; k < block.count; ++k, ++i) {
      vertices_[layers_[layer][i]].x = block.mean + shift[i];
    }
  }
}

void Layering::place_across() {
  for (int layer = 0; layer < layer_count(); ++layer) place_layer(layer, false, false);
  for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
    const bool settle = sweep + 2 >= kPlaceSweeps;  // at the end both sides count
    for (int i = 0; i < layer_count(); ++i) place_layer(i, true, settle);
    for (int i = layer_count() - 1; i >= 0; --i) place_layer(i, settle, true);
  }
}

// How far a vertex may move while its neighbours in the layer stay.
std::pair<double, double> Layering::free_range(int vertex) const {
  constexpr double kFar = 1e9;
  const std::vector<int>& layer = layers_[vertices_[vertex].layer];
  const size_t at = index_[vertex];
  const auto room = [&](int other) {
    return (vertices_[vertex].width + vertices_[other].width) / 2 + gaps_.across;
  };
  return {at > 0 ? vertices_[layer[at - 1]].x + room(layer[at - 1]) : -kFar,
          at + 1 < layer.size() ? vertices_[layer[at + 1]].x - room(layer[at + 1]) : kFar};
}

// Lines up the bends of each long edge as far as there is room. Least squares spreads a detour over
// many small steps, but a straight line with one step is easier to read.
void Layering::straighten_bends() {
  for (const std::vector<int>& path : paths_) {
    size_t start = 0;
    while (start + 1 < path.size()) {  // the lower ends of all segments but the last are bends
      double low = -1e300, high = 1e300, sum = 0;
      size_t end = start;
      for (; end + 1 < path.size(); ++end) {
        const int bend = segments_[path[end]].lower;
        const auto [left, right] = free_range(bend);
        if (std::max(low, left) > std::min(high, right)) break;
        low = std::max(low, left);
        high = std::min(high, right);
        sum += vertices_[bend].x;
      }
      if (end == start) break;  // rounding left no room even for one
      const double x = std::clamp(sum / static_cast<double>(end - start), low, high);
      for (size_t i = start; i < end; ++i) vertices_[segments_[path[i]].lower].x = x;
      start = end;
    }
  }
}

void Layering::spread_arrivals() {
  for (size_t v = 0; v < nodes_.size(); ++v) {
    std::map<double, std::vector<int>> arrivals;
    for (int s : above_[v]) arrivals[segments_[s].lower_x].push_back(s);
    for (auto& [x, group] : arrivals) {
      std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
        const Segment &s = segments_[a], &t = segments_[b];
        return vertices_[s.upper].x + s.upper_x < vertices_[t.upper].x + t.upper_x;
      });
      const double gaps = static_cast<double>(group.size()) - 1;
      const double step = gaps > 0 ? std::min(kArrivalSpread, 0.7 * nodes_[v].width / gaps) : 0;
      for (size_t i = 0; i < group.size(); ++i)
        segments_[group[i]].lower_x += (i - gaps / 2) * step;
    }
  }
}

LayeredLayout Layering::finish() const {
  LayeredLayout out;
  std::vector<double> top, bottom;
  double y = 0, left = 0, right = 0;
  for (const std::vector<int>& layer : layers_) {
    double height = 0;
    for (int v : layer) height = std::max(height, vertices_[v].height);
    top.push_back(y);
    bottom.push_back(y + height);
    y += height + gaps_.down;
  }
  out.height = bottom.empty() ? 0 : bottom.back();
  for (size_t v = 0; v < vertices_.size(); ++v) {
    const double low = vertices_[v].x - vertices_[v].width / 2;
    left = v ? std::min(left, low) : low;
    right = v ? std::max(right, low + vertices_[v].width) : low + vertices_[v].width;
  }
  out.width = right - left;
  const auto middle = [&](const Vertex& v) { return (top[v.layer] + bottom[v.layer]) / 2; };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Vertex& v = vertices_[i];
    out.nodes.push_back({v.x - v.width / 2 - left, middle(v) - v.height / 2});
  }
  for (size_t e = 0; e < edges_.size(); ++e) {
    const Vertex &from = vertices_[edges_[e].from], &to = vertices_[edges_[e].to];
    std::vector<Point>& route = out.routes.emplace_back();
    const auto add = [&](double x, double at) {
      if (route.empty() || route.back() != Point{x, at}) route.push_back({x, at});
    };
    add(vertices_[segments_[paths_[e].front()].upper].x + segments_[paths_[e].front()].upper_x -
            left,
        middle(from) + from.height / 2);
    for (int s : paths_[e]) {
      const Segment& segment = segments_[s];
      const Vertex &upper = vertices_[segment.upper], &lower = vertices_[segment.lower];
      add(upper.x + segment.upper_x - left, bottom[upper.layer]);
      add(lower.x + segment.lower_x - left, top[lower.layer]);
    }
    add(route.back().x, middle(to) - to.height / 2);
  }
  return out;
}

}  // namespace

LayeredLayout layout_layers(const std::vector<LayeredNode>& nodes,
                            const std::vector<LayeredEdge>& edges, const LayerGaps& gaps) {
  return Layering(nodes, edges, gaps).run();
}

}  // namespace kw
