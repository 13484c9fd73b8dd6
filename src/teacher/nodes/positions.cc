#include "teacher/nodes/positions.h"

#include <algorithm>
#include <set>

namespace kw::teacher {

namespace {

std::string slot(size_t i) {
  if (i > 9) throw Refusal{"an index over more than ten axes"};
  return "{" + std::to_string(i) + "}";
}

// Returns " + 3", " - 3" or nothing.
std::string plus(int64_t n) {
  if (n == 0) return "";
  return n > 0 ? " + " + std::to_string(n) : " - " + std::to_string(-n);
}

std::string times(const std::string& text, int64_t factor) {
  if (factor == 1) return text;
  return text + " * " + (factor < 0 ? "(" + std::to_string(factor) + ")" : std::to_string(factor));
}

}  // namespace

int index_of(Builder& b, AxisId axis) {
  if (b.axes().size(axis) >= int64_t{1} << 31) throw Refusal{"an index beyond 32 bits"};
  Node node;
  node.kind = NodeKind::kIndex;
  node.name = "index";
  node.dtype = DType::kInt32;
  node.axes = {axis};
  return b.add_node(std::move(node));
}

int integer_node(Builder& b, const std::string& name, const std::string& expression,
                 std::vector<int> operands) {
  DType dtype = DType::kInt32;
  for (int operand : operands) {
    if (b.graph().nodes[operand].dtype == DType::kInt64) dtype = DType::kInt64;
  }
  std::vector<DType> types(operands.size(), dtype);
  return expression_node(b, name, expression, std::move(operands), std::move(types), dtype);
}

int expression_node(Builder& b, const std::string& name, const std::string& expression,
                    std::vector<int> operands, std::vector<DType> types, DType dtype) {
  Node node;
  node.name = name;
  node.dtype = dtype;
  node.expression = expression;
  node.operands = std::move(operands);
  node.operand_types = std::move(types);
  return b.add_node(std::move(node));
}

int condition_node(Builder& b, const std::string& expression, std::vector<int> operands) {
  const int id = integer_node(b, "inside", expression, std::move(operands));
  b.graph().nodes[id].dtype = DType::kBool;
  return id;
}

int position_index(Builder& b, const Position& position) {
  if (position.node >= 0) return position.node;
  std::vector<int> operands;
  std::string text;
  for (auto [axis, factor] : position.terms) {
    text += (text.empty() ? "" : " + ") + times(slot(operands.size()), factor);
    operands.push_back(index_of(b, axis));
  }
  if (text == "{0}" && position.start == 0) return operands[0];
  text = text.empty() ? std::to_string(position.start) : text + plus(position.start);
  return integer_node(b, "index", text, std::move(operands));
}

// If a position may lie before the first element, the condition asks about positions after the last
// one too. Whether there are any depends on sizes, and the text must not.
Position ranged(Builder& b, std::vector<std::pair<AxisId, int64_t>> terms, int64_t start,
                int64_t size) {
  Position position;
  int64_t low = start, high = start;
  for (auto [axis, factor] : terms) {
    if (axis < 0) continue;  // an axis of one iteration
    const int64_t reach = factor * (b.axes().size(axis) - 1);
    (reach < 0 ? low : high) += reach;
    if (position.along < 0) position.along = axis, position.step = factor;
    position.terms.emplace_back(axis, factor);
  }
  position.start = start;
  if (low >= 0 && high < size) return position;
  position.node = position_index(b, position);
  const std::string below = "{0} < " + std::to_string(size);
  position.guard =
      condition_node(b, low < 0 ? "({0} >= 0) & (" + below + ")" : below, {position.node});
  return position;
}

void place(Builder& b, const Tensor& t, int dim, const Position& position, Positions& at) {
  const Axes leaves = b.axes().leaves(t.axes(dim));
  if (leaves.size() == 1) {
    at[leaves[0]] = position;
    return;
  }
  if (leaves.empty()) return;
  const int index = position_index(b, position);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const int64_t inner = b.axes().size(Axes(leaves.begin() + i + 1, leaves.end()));
    std::string text = inner == 1 ? "{0}" : "{0} // " + std::to_string(inner);
    if (i > 0) text += " % " + std::to_string(b.axes().size(leaves[i]));
    Position part;
    part.node = integer_node(b, "index", text, {index});
    part.guard = position.guard;
    if (i + 1 == leaves.size()) part.along = position.along, part.step = position.step;
    at[leaves[i]] = part;
  }
}

Axes free_axes(const Builder& b, int id) {
  const Node& node = b.graph().nodes[id];
  if (node.kind == NodeKind::kCount) return {};
  Axes out;
  for (int operand : node.operands) out = set_union(out, free_axes(b, operand));
  const Axes own = b.axes().leaves(node.axes);
  if (node.kind == NodeKind::kIndex || node.kind == NodeKind::kScan) return set_union(out, own);
  for (const Piece& piece : node.pieces) {
    if (piece.stride.factor != 0) out = set_union(out, b.axes().leaves(piece.axis));
  }
  out = set_minus(out, own);
  for (const ConvDim& dim : node.conv) out = set_union(out, b.axes().leaves(dim.out));
  return out;
}

namespace {

void add_guard(Node& load, int guard) {
  const auto first = load.operands.begin() + static_cast<long>(load.gathered.size());
  if (std::find(first, load.operands.end(), guard) == load.operands.end()) {
    load.operands.push_back(guard);
  }
}

// Returns the product as a node: a sum of products if a single row or column is left of it.
int product_or_dot(Builder& b, Node product) {
  const Axes left = free_axes(b, product.operands[0]);
  const Axes right = free_axes(b, product.operands[1]);
  if (!set_minus(left, right).empty() && !set_minus(right, left).empty())
    return b.add_node(std::move(product));
  Node sum;
  sum.kind = NodeKind::kReduce;
  sum.reduce = ReduceOp::kSum;
  sum.name = "dot";
  sum.dtype = product.dtype;
  sum.axes = product.axes;
  sum.operands = {expression_node(b, "product", "{0} * {1}", product.operands,
                                  {product.dtype, product.dtype}, product.dtype)};
  return b.add_node(std::move(sum));
}

int substituted_index(Builder& b, int id, const Axes& axes, const Positions& at) {
  std::string text;
  std::vector<int> operands;
  bool changed = false;
  for (AxisId axis : axes) changed |= at.count(axis) > 0;
  if (!changed) return id;
  for (size_t i = 0; i < axes.size(); ++i) {
    auto it = at.find(axes[i]);
    const int64_t inner = b.axes().size(Axes(axes.begin() + i + 1, axes.end()));
    text += (i > 0 ? " + " : "") + times(slot(i), inner);
    operands.push_back(it == at.end() ? index_of(b, axes[i]) : position_index(b, it->second));
  }
  return text == "{0}" ? operands[0] : integer_node(b, "index", text, std::move(operands));
}

int substituted_load(Builder& b, int id, Node node, const Positions& at, bool changed) {
  std::vector<Piece> pieces;
  for (const Piece& whole : node.pieces) {
    for (const Piece& piece : b.leaf_pieces(whole)) {
      auto it = at.find(piece.axis);
      if (it == at.end()) {
        pieces.push_back(piece);
        continue;
      }
      changed = true;
      if (piece.stride.factor == 0) continue;
      const Position& position = it->second;
      if (position.node >= 0) {
        node.operands.insert(node.operands.begin() + static_cast<long>(node.gathered.size()),
                             position.node);
        node.gathered.push_back({piece.stride, position.along, position.step});
      } else {
        if (position.start != 0) node.offset.push_back({position.start, piece.stride});
        for (auto [axis, factor] : position.terms) {
          pieces.push_back({axis, piece.stride});
          pieces.back().stride.factor *= factor;
        }
      }
      if (position.guard >= 0) add_guard(node, position.guard);
    }
  }
  if (!changed) return id;
  // A load may vary with a replaced axis through its operands: it gathers already, like a part of a
  // cat. It is read only where the axis' new position exists, like a load that walks it in pieces.
  const std::vector<int> own = b.graph().nodes[id].operands;
  for (int operand : own) {
    for (AxisId axis : free_axes(b, operand)) {
      auto it = at.find(axis);
      if (it != at.end() && it->second.guard >= 0) add_guard(node, it->second.guard);
    }
  }
  node.pieces = std::move(pieces);
  return b.add_node(std::move(node));
}

int with_positions(Builder& b, int id, const Positions& at, std::map<int, int>& done) {
  if (auto it = done.find(id); it != done.end()) return it->second;
  Node node = b.graph().nodes[id];
  const Axes own = b.axes().leaves(node.axes);
  if (node.kind == NodeKind::kCount) return id;
  if (node.kind == NodeKind::kIndex) return done[id] = substituted_index(b, id, own, at);
  Axes fixed = node.kind == NodeKind::kScan ? own : Axes();
  for (const ConvDim& dim : node.conv) fixed = set_union(fixed, b.axes().leaves(dim.out));
  for (AxisId axis : fixed) {
    if (at.count(axis)) throw Refusal{"a part of a scan or a convolution"};
  }
  bool changed = false;
  Positions free = at;  // without the axes that this node binds
  for (AxisId axis : own) free.erase(axis);
  std::map<int, int> fresh;
  std::map<int, int>& known = free.size() == at.size() ? done : fresh;
  for (int& operand : node.operands) {
    const int old = operand;
    operand = free.empty() ? old : with_positions(b, old, free, known);
    changed |= operand != old;
  }
  if (node.kind == NodeKind::kLoad) {
    return done[id] = substituted_load(b, id, std::move(node), at, changed);
  }
  if (!changed) return done[id] = id;
  if (!own.empty()) {  // what is put in must not vary with what is bound here, now or later
    Axes all = own;
    const Axes varies = free_axes(b, id);
    Axes used;
    for (const auto& [axis, position] : free) {
      if (!contains(varies, axis)) continue;
      for (const auto& term : position.terms) {
        used = set_union(used, b.axes().leaves(term.first));
      }
      if (position.node >= 0) used = set_union(used, free_axes(b, position.node));
    }
    all.insert(all.end(), used.begin(), used.end());
    if (!all_distinct(all)) throw Refusal{"an index inside of the reduction that it varies with"};
    b.note_layout(std::move(all));
  }
  if (node.kind == NodeKind::kMatmul) return done[id] = product_or_dot(b, std::move(node));
  return done[id] = b.add_node(std::move(node));
}

int with_guard(Builder& b, int id, int guard, std::map<int, int>& done) {
  if (auto it = done.find(id); it != done.end()) return it->second;
  Node node = b.graph().nodes[id];
  if (node.kind == NodeKind::kLoad) {
    add_guard(node, guard);
    return done[id] = b.add_node(std::move(node));
  }
  if (node.kind != NodeKind::kPointwise || node.operands.empty()) return done[id] = id;
  for (int& operand : node.operands) operand = with_guard(b, operand, guard, done);
  return done[id] = b.add_node(std::move(node));
}

}  // namespace

int substituted(Builder& b, int node, const Positions& at) {
  std::map<int, int> done;
  return with_positions(b, node, at, done);
}

int guarded(Builder& b, int node, int guard) {
  std::map<int, int> done;
  return with_guard(b, node, guard, done);
}

Tensor taken(Builder& b, Tensor t, const Positions& at, std::vector<std::vector<Piece>> dims) {
  t.node = substituted(b, t.node, at);
  t.dims = std::move(dims);
  b.note_layout(t.axes());
  return t;
}

Tensor selected(Builder& b, const std::vector<int>& guards, Tensor t,
                const std::string& otherwise) {
  if (guards.empty()) return t;
  Node node = b.graph().nodes[t.node];
  if (node.kind == NodeKind::kLoad && node.other.empty()) {
    const std::set<int> own(node.operands.begin() + static_cast<long>(node.gathered.size()),
                            node.operands.end());
    if (own == std::set<int>(guards.begin(), guards.end())) {
      node.other = otherwise;
      t.node = b.add_node(std::move(node));
      return t;
    }
  }
  const DType type = register_type(t.dtype);
  std::string expression;
  std::vector<int> operands = guards;
  std::vector<DType> types(guards.size(), DType::kBool);
  for (size_t i = 0; i < guards.size(); ++i) expression += (i > 0 ? " & " : "") + slot(i);
  expression = "tl.where(" + expression + ", " + slot(guards.size()) + ", " + otherwise + ")";
  if (!is_floating(type) && type != DType::kInt64 && type != DType::kInt32) {
    expression += ".to(" + std::string(triton_name(type)) + ")";
  }
  operands.push_back(t.node);
  types.push_back(type);
  t.node = expression_node(b, "selected", expression, std::move(operands), std::move(types), type);
  return t;
}

}  // namespace kw::teacher
