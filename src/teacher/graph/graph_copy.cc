#include "teacher/graph/graph_copy.h"

#include <utility>

#include "teacher/graph/parts.h"

namespace kw::teacher {

GraphCopy::GraphCopy(const Graph& old) : out(old), old_(old) {
  out.nodes.clear();
  out.outputs.clear();
}

int GraphCopy::add(Node node) {
  if (node.kind != NodeKind::kLoad && node.kind != NodeKind::kIndex) node.varies.clear();
  for (int operand : node.operands) node.varies = set_union(node.varies, out.nodes[operand].varies);
  if (node.kind == NodeKind::kReduce || node.kind == NodeKind::kWindow ||
      node.kind == NodeKind::kMatmul || node.kind == NodeKind::kConvolution) {
    node.varies = set_minus(node.varies, sorted(node.axes));
  }
  for (const ConvDim& dim : node.conv) node.varies = set_union(node.varies, sorted(dim.out));
  if (node.kind == NodeKind::kScan) node.varies = set_union(node.varies, sorted(node.axes));
  out.nodes.push_back(std::move(node));
  return static_cast<int>(out.nodes.size()) - 1;
}

Node GraphCopy::copied(Node node) const {
  for (int& operand : node.operands) operand = copies_[operand];
  return node;
}

Node GraphCopy::pointwise(const std::string& name, const std::string& expression,
                          std::vector<int> operands, DType dtype) {
  Node node;
  node.name = name;
  node.expression = expression;
  node.operand_types.assign(operands.size(), dtype);
  node.operands = std::move(operands);
  node.dtype = dtype;
  return node;
}

int GraphCopy::through_memory(int id, AxisId outer) {
  const Node made = out.nodes[id];
  Value value;
  value.dtype = made.dtype;
  value.storage = static_cast<int>(out.program.values.size());
  Output output;
  output.node = id;
  output.value = static_cast<ValueId>(value.storage);
  output.target = static_cast<int>(out.program.inputs.size());
  Axes order = made.varies;
  if (contains(order, outer)) {
    order = set_minus(order, {outer});
    order.insert(order.begin(), outer);
  }
  for (AxisId axis : order) {
    output.pieces.push_back({axis, {static_cast<int>(value.shape.size()), 1, {}}});
    value.shape.push_back(out.axes.size(axis));
  }
  value.strides.assign(value.shape.size(), 1);
  for (size_t d = value.shape.size(); d-- > 1;) {
    value.strides[d - 1] = value.strides[d] * value.shape[d];
  }
  Node load;
  load.kind = NodeKind::kLoad;
  load.dtype = load.stored = made.dtype;
  load.input = output.target;
  load.pieces = output.pieces;
  load.varies = made.varies;
  out.program.values.push_back(value);
  out.program.inputs.push_back(output.value);
  scratch_.push_back(std::move(output));
  return add(std::move(load));
}

Graph GraphCopy::finished() const {
  Graph all = out;
  for (const Output& output : old_.outputs) {
    all.outputs.push_back(output);
    all.outputs.back().node = copies_[output.node];
  }
  all.outputs.insert(all.outputs.end(), scratch_.begin(), scratch_.end());
  std::vector<size_t> every;
  for (size_t i = 0; i < all.outputs.size(); ++i) every.push_back(i);
  number_outputs(all);
  return with_outputs(all, every);
}

}  // namespace kw::teacher
