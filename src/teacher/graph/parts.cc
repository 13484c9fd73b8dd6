#include "teacher/graph/parts.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace kw::teacher {
namespace {

// Returns the nodes that the output's value is made of.
std::vector<bool> made_of(const Graph& graph, const Output& output) {
  std::vector<bool> out(graph.nodes.size(), false);
  out[output.node] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!out[i]) continue;
    for (int operand : graph.nodes[i].operands) out[operand] = true;
  }
  return out;
}

bool computes(const Node& node) {
  return node.kind != NodeKind::kLoad && node.kind != NodeKind::kCount &&
         node.kind != NodeKind::kIndex && !node.operands.empty();
}

bool crosses(const Node& node) {
  return node.kind != NodeKind::kLoad && node.kind != NodeKind::kPointwise &&
         node.kind != NodeKind::kWindow;
}

Axes output_axes(const Graph& graph, const Output& output) {
  Axes out;
  for (const Piece& piece : output.pieces) out = set_union(out, graph.axes.leaves(piece.axis));
  return out;
}

std::vector<Graph> grouped(const Graph& graph, const std::vector<int>& group_of) {
  std::vector<Graph> out;
  for (int group : std::set<int>(group_of.begin(), group_of.end())) {
    std::vector<size_t> members;
    for (size_t i = 0; i < group_of.size(); ++i) {
      if (group_of[i] == group) members.push_back(i);
    }
    // In the order of the fragment's steps.
    std::ranges::stable_sort(members, {}, [&](size_t i) { return graph.outputs[i].holds; });
    out.push_back(with_outputs(graph, members));
  }
  return out;
}

std::vector<std::pair<AxisId, int64_t>> walk(const Graph& graph, const std::vector<Piece>& pieces,
                                             const std::vector<int64_t>& strides) {
  std::vector<std::pair<AxisId, int64_t>> out;
  for (const LeafStride& s : leaf_strides(graph, pieces, "", strides)) {
    out.emplace_back(s.axis, s.stride);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Graph with_outputs(const Graph& graph, const std::vector<size_t>& outputs) {
  Graph out = graph;
  out.outputs.clear();
  std::vector<bool> live(graph.nodes.size(), false);
  for (size_t i : outputs) {
    out.outputs.push_back(graph.outputs[i]);
    const std::vector<bool> needed = made_of(graph, graph.outputs[i]);
    for (size_t n = 0; n < live.size(); ++n) live[n] = live[n] || needed[n];
  }
  std::vector<int> position(graph.nodes.size(), -1);
  out.nodes.clear();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    position[i] = static_cast<int>(out.nodes.size());
    out.nodes.push_back(graph.nodes[i]);
    for (int& operand : out.nodes.back().operands) operand = position[operand];
  }
  for (Output& output : out.outputs) output.node = position[output.node];
  return out;
}

std::vector<Graph> levels(const Graph& graph) {
  const size_t count = graph.outputs.size();
  std::vector<std::vector<size_t>> waits(count);  // for the outputs that are its inputs
  for (size_t i = 0; i < count; ++i) {
    const std::vector<bool> needed = made_of(graph, graph.outputs[i]);
    for (size_t n = 0; n < needed.size(); ++n) {
      const Node& node = graph.nodes[n];
      if (!needed[n] || node.kind != NodeKind::kLoad || node.input < graph.inputs) continue;
      for (size_t k = 0; k < count; ++k) {
        if (graph.outputs[k].target == node.input) waits[i].push_back(k);
      }
    }
  }
  std::vector<int> level(count, 0);
  for (size_t round = 0; round < count; ++round) {  // the longest chain has so many
    for (size_t i = 0; i < count; ++i) {
      for (size_t k : waits[i]) level[i] = std::max(level[i], level[k] + 1);
    }
  }
  // Values made element by element wait for a kernel that walks the same elements.
  for (size_t i = 0; i < count; ++i) {
    const Output& own = graph.outputs[i];
    const std::vector<bool> needed = made_of(graph, own);
    bool plain = own.target < 0;
    for (size_t n = 0; plain && n < needed.size(); ++n) {
      plain = !needed[n] || !crosses(graph.nodes[n]) || !computes(graph.nodes[n]);
    }
    for (size_t k = 0; plain && k < count; ++k) {
      if (output_axes(graph, graph.outputs[k]) == output_axes(graph, own)) {
        level[i] = std::max(level[i], level[k]);
      }
    }
  }
  return grouped(graph, level);
}

std::vector<Graph> independent_parts(const Graph& graph) {
  std::vector<int> group(graph.outputs.size());
  std::iota(group.begin(), group.end(), 0);
  std::vector<int> owner(graph.nodes.size(), -1);  // group of the first output that computes it
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::vector<bool> needed = made_of(graph, graph.outputs[i]);
    for (size_t n = 0; n < needed.size(); ++n) {
      if (!needed[n] || !computes(graph.nodes[n])) continue;
      if (owner[n] < 0) owner[n] = static_cast<int>(i);
      const int joined = group[owner[n]], own = group[i];
      std::replace(group.begin(), group.end(), own, joined);
    }
  }
  return grouped(graph, group);
}

bool stored_in_place(const Graph& graph, const Output& output) {
  if (output.target < 0 || output.target >= graph.inputs) return false;
  const Program& program = graph.program;
  const auto stored = walk(graph, output.pieces, program.values[output.value].strides);
  std::vector<bool> depends(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kLoad && node.input == output.target) {
      const auto& strides = program.values[program.inputs[node.input]].strides;
      if (!node.operands.empty() || !node.offset.empty()) return false;
      if (walk(graph, node.pieces, strides) != stored) return false;
      depends[i] = true;
    }
    for (int operand : node.operands) depends[i] = depends[i] || depends[operand];
    if (depends[i] && crosses(node)) return false;
  }
  for (const Output& other : graph.outputs) {
    if (other.name != output.name && depends[other.node]) return false;
  }
  return true;
}

}  // namespace kw::teacher
