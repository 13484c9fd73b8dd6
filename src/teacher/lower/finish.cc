#include "teacher/lower/finish.h"

#include <algorithm>
#include <map>
#include <string>

#include "teacher/graph/extents.h"

namespace kw::teacher {
namespace {

// Unifies the axes of results of one shape, so that results that share none (two pools of one
// image) are walked together.
void align_outputs(Builder& b) {
  auto by_dim = [](const Output& output) {
    std::map<int, Axes> out;
    for (const Piece& piece : output.pieces) out[piece.stride.dim].push_back(piece.axis);
    return out;
  };
  for (size_t i = 1; i < b.graph().outputs.size(); ++i) {
    const auto first = by_dim(b.graph().outputs[0]), own = by_dim(b.graph().outputs[i]);
    AxisTable trial = b.axes();
    bool same = first.size() == own.size();
    for (auto a = first.begin(), it = own.begin(); same && a != first.end(); ++a, ++it) {
      same = a->first == it->first && trial.unify(a->second, it->second);
    }
    if (same && b.consistent(trial)) b.axes() = std::move(trial);
  }
}

// Unifies the axes that reductions and products sum over. They are bound, so any two of equal
// extent may be the same loop, and families run one reduced loop at a time.
void unify_bound_axes(Builder& b) {
  for (NodeKind kind : {NodeKind::kReduce, NodeKind::kMatmul}) {
    const Node* first = nullptr;
    for (const Node& node : b.graph().nodes) {  // its axes are not bound, but may be shared
      if (kind == NodeKind::kReduce && node.kind == NodeKind::kScan) first = &node;
    }
    for (const Node& node : b.graph().nodes) {
      if (node.kind != kind) continue;
      if (!first) {
        first = &node;
        continue;
      }
      AxisTable trial = b.axes();
      if (trial.unify(first->axes, node.axes) && b.consistent(trial)) b.axes() = std::move(trial);
    }
  }
}

// Returns the leaves that a node depends on, whose operands know theirs.
Axes varies_of(const Graph& graph, const Node& node) {
  Axes out;
  for (int operand : node.operands) out = set_union(out, graph.nodes[operand].varies);
  switch (node.kind) {
    case NodeKind::kLoad:  // together with what its indices and conditions vary with
      for (const Piece& piece : node.pieces) {
        if (piece.stride.factor != 0) out = set_union(out, graph.axes.leaves(piece.axis));
      }
      return out;
    case NodeKind::kReduce:
    case NodeKind::kWindow:
    case NodeKind::kMatmul:
      return set_minus(out, node.axes);
    case NodeKind::kConvolution:
      out = set_minus(out, node.axes);
      for (const ConvDim& dim : node.conv) out = set_union(out, dim.out);
      return out;
    case NodeKind::kIndex:
      return sorted(node.axes);
    case NodeKind::kScan:
      return set_union(out, node.axes);
    case NodeKind::kPointwise:
    case NodeKind::kCount:
      break;
  }
  return out;
}

// Replaces the axes of nodes by leaves.
void settle_axes(Graph& graph) {
  for (Node& node : graph.nodes) {
    node.axes = graph.axes.leaves(node.axes);
    for (ConvDim& window : node.conv) {
      for (Axes* axes : {&window.in, &window.out, &window.kernel}) {
        *axes = graph.axes.leaves(*axes);
      }
    }
    node.varies = varies_of(graph, node);
  }
}

void append_strides(const std::vector<LeafStride>& strides, std::string& key) {
  std::vector<std::pair<AxisId, int64_t>> order;
  for (const LeafStride& s : strides) order.emplace_back(s.axis, s.stride);
  std::sort(order.begin(), order.end());
  for (auto [axis, stride] : order) {
    key += " " + std::to_string(axis) + ":" + std::to_string(stride);
  }
}

std::string convolution_key(const Node& node) {
  std::string key;
  for (const ConvDim& w : node.conv) {
    for (const Axes& axes : {w.in, w.out, w.kernel}) {
      for (AxisId axis : axes) key += std::to_string(axis) + ",";
      key += ";";
    }
    for (int64_t n : {w.stride, w.padding, w.dilation, w.grown, int64_t{w.transposed}}) {
      key += std::to_string(n) + ",";
    }
  }
  return key;
}

// Returns a text that is the same for nodes of the same value, whose operands have been merged.
std::string node_key(const Graph& graph, const Node& node) {
  std::string key = std::to_string(static_cast<int>(node.kind)) + "|" +
                    std::string(dtype_name(node.dtype)) + "|" + node.expression + "|" +
                    std::to_string(node.input) + "|" +
                    std::to_string(static_cast<int>(node.reduce)) + "|";
  for (int operand : node.operands) key += std::to_string(operand) + ",";
  for (DType type : node.operand_types) key += std::string(dtype_name(type)) + ",";
  key += "|";
  for (AxisId axis : node.axes) key += std::to_string(axis) + ",";
  key += convolution_key(node);
  if (node.kind == NodeKind::kLoad) {
    const auto& strides = graph.program.values[graph.program.inputs[node.input]].strides;
    append_strides(leaf_strides(graph, node.pieces, "x", strides), key);
    int64_t offset = 0;
    for (const OffsetTerm& term : node.offset) {
      offset += term.index * stride_value(graph, term.stride, strides);
    }
    key += "@" + std::to_string(offset);
    for (const Gathered& gathered : node.gathered) {
      key += " " + std::to_string(stride_value(graph, gathered.stride, strides));
    }
    key += "?" + node.other;
  }
  return key;
}

void merge_equal_nodes(Graph& graph) {
  std::map<std::string, int> known;
  std::vector<int> replacement(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    for (int& operand : node.operands) operand = replacement[operand];
    replacement[i] = known.emplace(node_key(graph, node), static_cast<int>(i)).first->second;
  }
  for (Output& output : graph.outputs) output.node = replacement[output.node];
}

void drop_dead_nodes(Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (const Output& output : graph.outputs) live[output.node] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (int operand : graph.nodes[i].operands) live[operand] = true;
  }
  std::vector<int> position(graph.nodes.size(), -1);
  std::vector<Node> kept;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    for (int& operand : graph.nodes[i].operands) operand = position[operand];
    position[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(kept);
  for (Output& output : graph.outputs) output.node = position[output.node];
}

}  // namespace

void finish(Builder& b) {
  if (!b.consistent(b.axes())) throw Refusal{"a value would be read along its diagonal"};
  align_outputs(b);
  unify_bound_axes(b);
  settle_axes(b.graph());
  merge_equal_nodes(b.graph());
  drop_dead_nodes(b.graph());
  name_sizes(b.graph());
}

}  // namespace kw::teacher
