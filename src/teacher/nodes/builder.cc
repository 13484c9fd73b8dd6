#include "teacher/nodes/builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

namespace kw::teacher {

Axes Tensor::axes(int dim) const {
  Axes out;
  for (const Piece& piece : dims[dim]) out.push_back(piece.axis);
  return out;
}

Axes Tensor::axes() const {
  Axes out;
  for (int d = 0; d < rank(); ++d) {
    for (const Piece& piece : dims[d]) out.push_back(piece.axis);
  }
  return out;
}

Builder::Builder(const Program& program, bool shared_uses, bool reductions_apart)
    : shared_uses_(shared_uses), reductions_apart_(reductions_apart) {
  graph_.program = program;
  graph_.inputs = static_cast<int>(program.inputs.size());
}

Tensor Builder::fresh_clone(Tensor t) {
  std::map<AxisId, AxisId> clones;
  auto clone_of = [&](AxisId leaf) {
    auto [it, is_new] = clones.emplace(leaf, 0);
    if (is_new) it->second = graph_.axes.fresh(graph_.axes.size(leaf));
    return it->second;
  };
  for (auto& dim : t.dims) {
    std::vector<Piece> pieces;
    for (const Piece& whole : dim) {
      for (const Piece& piece : leaf_pieces(whole)) {
        pieces.push_back({clone_of(piece.axis), piece.stride});
      }
    }
    dim = std::move(pieces);
  }
  name_clones(clones);
  return t;
}

// One name from the arguments and one from each scratch memory are enough. Leaves that were unified
// have several names, and each clone would double their number.
void Builder::name_clones(const std::map<AxisId, AxisId>& clones) {
  std::set<std::pair<Axes, int>> named;
  const size_t count = graph_.origins.size();
  for (size_t i = 0; i < count; ++i) {
    const SizeOrigin origin = graph_.origins[i];
    const Axes leaves = graph_.axes.leaves(origin.axes);
    Axes mapped;
    for (AxisId leaf : leaves) {
      if (auto it = clones.find(leaf); it != clones.end()) mapped.push_back(it->second);
    }
    const int memory = origin.input < graph_.inputs ? -1 : origin.input;
    if (mapped.empty() || mapped.size() != leaves.size()) continue;
    if (!named.emplace(leaves, memory).second) continue;
    graph_.origins.push_back({mapped, origin.input, origin.dim});
  }
}

Tensor Builder::use(Tensor t) {
  if (t.node >= 0) return t;
  if (t.input < 0) throw Refusal{"a value of no kind"};
  if (!shared_uses_) t = fresh_clone(std::move(t));
  Node load;
  load.kind = NodeKind::kLoad;
  load.dtype = register_type(t.dtype);
  load.stored = t.dtype;
  load.input = t.input;
  for (const auto& dim : t.dims) load.pieces.insert(load.pieces.end(), dim.begin(), dim.end());
  load.offset = t.offset;
  t.node = add_node(std::move(load));
  t.input = -1;
  t.offset.clear();
  note_layout(t.axes());
  return t;
}

Output Builder::output_of(const Tensor& t, ValueId id) const {
  const Value& value = graph_.program.values[id];
  Output output{.node = t.node, .value = id, .holds = id};
  for (int d = 0; d < t.rank(); ++d) {
    if (value.shape[d] > 1 && value.strides[d] == 0) throw Refusal{"a result is expanded"};
    for (size_t i = 0; i < t.dims[d].size(); ++i) {
      Axes inner;
      for (size_t j = i + 1; j < t.dims[d].size(); ++j) inner.push_back(t.dims[d][j].axis);
      output.pieces.push_back({t.dims[d][i].axis, {d, 1, inner}});
    }
  }
  return output;
}

bool Builder::consistent(const AxisTable& axes) const {
  for (const Axes& layout : layouts_) {
    if (!all_distinct(axes.leaves(layout))) return false;
  }
  return true;
}

std::vector<Piece> Builder::leaf_pieces(const Piece& piece) const {
  std::vector<Piece> out;
  const Axes leaves = graph_.axes.leaves(piece.axis);
  for (size_t i = 0; i < leaves.size(); ++i) {
    Stride stride = piece.stride;
    stride.times.insert(stride.times.end(), leaves.begin() + static_cast<long>(i) + 1,
                        leaves.end());
    out.push_back({leaves[i], stride});
  }
  return out;
}

AxisId Builder::loop_of(int64_t size) {
  if (size < 1) throw Refusal{"an empty tensor"};
  return size > 1 ? graph_.axes.fresh(size) : -1;
}

std::vector<Piece> pieces_of(AxisId axis) {
  if (axis < 0) return {};
  return {{axis, {}}};
}

int Builder::add_node(Node node) {
  node.step = step_;
  graph_.nodes.push_back(std::move(node));
  return static_cast<int>(graph_.nodes.size()) - 1;
}

std::string literal(double value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? "True" : "False";
  if (!is_floating(dtype)) {
    if (value != std::floor(value) || std::abs(value) > 9e15) {
      throw Refusal{"a fractional constant among integers"};
    }
    const std::string text = std::to_string(static_cast<int64_t>(value));
    return value < 0 ? "(" + text + ")" : text;
  }
  std::string text;
  if (std::isnan(value)) {
    text = "float(\"nan\")";
  } else if (std::isinf(value)) {
    text = value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  } else {
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    text.assign(buffer, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (value < 0 || (value == 0 && std::signbit(value))) text = "(" + text + ")";
  }
  // A bare literal would be taken for fp32 if no operand is an fp64 tensor.
  if (dtype == DType::kFloat64) return "tl.full((), " + text + ", tl.float64)";
  return text;
}

Tensor Builder::pointwise(const std::string& name, const std::string& expression,
                          std::vector<Tensor> operands, DType dtype) {
  std::vector<DType> types(operands.size(), register_type(dtype));
  return pointwise(name, expression, std::move(operands), std::move(types), dtype);
}

Tensor Builder::pointwise(const std::string& name, const std::string& expression,
                          std::vector<Tensor> operands, std::vector<DType> operand_types,
                          DType dtype) {
  Node node;
  node.name = name;
  node.dtype = register_type(dtype);
  node.expression = expression;
  node.operand_types = std::move(operand_types);
  Tensor out;
  out.dtype = dtype;
  int rank = 0;
  for (Tensor& t : operands) {
    t = use(std::move(t));
    node.operands.push_back(t.node);
    rank = std::max(rank, t.rank());
  }
  out.dims.resize(rank);
  for (const Tensor& t : operands) {
    for (int d = 0; d < t.rank(); ++d) {
      auto& dim = out.dims[rank - t.rank() + d];
      if (t.dims[d].empty()) continue;
      if (dim.empty()) {
        for (AxisId leaf : graph_.axes.leaves(t.axes(d))) dim.push_back({leaf, {}});
        continue;
      }
      Axes axes;
      for (const Piece& piece : dim) axes.push_back(piece.axis);
      if (!graph_.axes.unify(axes, t.axes(d))) {
        throw Refusal{name + ": dimensions cannot be walked together"};
      }
    }
  }
  out.node = add_node(std::move(node));
  note_layout(out.axes());
  return out;
}

Tensor Builder::constant(const std::string& text, DType dtype) {
  return pointwise("constant", text, {}, dtype);
}

Tensor Builder::scalar(const std::string& text, DType dtype) {
  return constant("tl.full((), " + text + ", " + std::string(triton_name(dtype)) + ")", dtype);
}

Tensor Builder::reduce(const std::string& name, ReduceOp op, Tensor t, const std::vector<int>& dims,
                       bool keepdim) {
  t = use(std::move(t));
  if (reductions_apart_) {
    const Axes before = reduced_in(t);
    std::vector<int> first, rest;
    for (int d : dims) {
      const Axes own = sorted(graph_.axes.leaves(t.axes(d)));
      if (own.empty()) continue;
      (set_intersection(before, own).empty() ? rest : first).push_back(d);
    }
    if (!first.empty() && !rest.empty()) {
      Tensor out = reduce_apart(name, op, t, first, rest);
      for (int d = t.rank(); d-- > 0 && !keepdim;) {
        if (std::count(dims.begin(), dims.end(), d) > 0) out.dims.erase(out.dims.begin() + d);
      }
      return out;
    }
  }
  Node node;
  node.kind = NodeKind::kReduce;
  node.name = name;
  node.dtype = register_type(t.dtype);
  node.reduce = op;
  node.operands = {t.node};
  Tensor out;
  out.dtype = t.dtype;
  for (int d = 0; d < t.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      out.dims.push_back(t.dims[d]);
      continue;
    }
    for (AxisId axis : t.axes(d)) node.axes.push_back(axis);
    if (keepdim) out.dims.emplace_back();
  }
  out.node = node.axes.empty() ? t.node : add_node(std::move(node));
  return out;
}

Tensor Builder::count(const Tensor& t, const std::vector<int>& dims) {
  Node node;
  node.kind = NodeKind::kCount;
  node.name = "count";
  node.dtype = DType::kInt32;
  for (int d : dims) {
    for (AxisId axis : t.axes(d)) node.axes.push_back(axis);
  }
  if (node.axes.empty()) return constant("1", DType::kInt32);
  Tensor out;
  out.dtype = DType::kInt32;
  out.node = add_node(std::move(node));
  return out;
}

Tensor Builder::index_along(const Tensor& t, const std::vector<int>& dims) {
  Node node;
  node.kind = NodeKind::kIndex;
  node.name = "index";
  node.dtype = DType::kInt32;
  Tensor out;
  out.dtype = DType::kInt32;
  out.dims.resize(t.rank());
  for (int d : dims) {
    for (const Piece& piece : t.dims[d]) {
      node.axes.push_back(piece.axis);
      out.dims[d].push_back({piece.axis, {}});
    }
  }
  if (graph_.axes.size(node.axes) >= int64_t{1} << 31) throw Refusal{"an index beyond 32 bits"};
  if (node.axes.empty()) {
    out.node = constant("0", DType::kInt32).node;
  } else {
    out.node = add_node(std::move(node));
  }
  return out;
}

// One kernel stores the value and later ones read it. This is how a fragment is written that no
// single loop nest can hold, such as a mean of values that are means over another dimension.
Tensor Builder::materialized(Tensor t, const Value* like) {
  t = use(std::move(t));
  Value value;
  value.dtype = t.dtype;
  value.storage = static_cast<int>(graph_.program.values.size());  // no other value has this one
  for (int d = 0; d < t.rank(); ++d) value.shape.push_back(extent(t, d));
  value.strides.assign(value.shape.size(), 1);
  for (size_t d = value.shape.size(); d-- > 1;) {
    value.strides[d - 1] = value.strides[d] * value.shape[d];
  }
  const auto repeats = [](int64_t stride) { return stride == 0; };
  if (like && std::none_of(like->strides.begin(), like->strides.end(), repeats)) {
    value.strides = like->strides;
  }
  graph_.program.values.push_back(value);
  graph_.program.inputs.push_back(static_cast<ValueId>(graph_.program.values.size()) - 1);
  Output output = output_of(t, graph_.program.inputs.back());
  output.target = static_cast<int>(graph_.program.inputs.size()) - 1;
  output.holds = -1;
  t.input = output.target;
  t.node = -1;
  for (auto& dim : t.dims) dim.clear();
  for (const Piece& piece : output.pieces) t.dims[piece.stride.dim].push_back(piece);
  graph_.outputs.push_back(std::move(output));
  return t;
}

// Returns the axes that were reduced in what `t` is made of; none if a scan or a product is among
// it.
Axes Builder::reduced_in(const Tensor& t) const {
  Axes out;
  std::set<int> made_of;
  if (t.node >= 0) made_of.insert(t.node);
  while (!made_of.empty()) {
    const Node& node = graph_.nodes[*made_of.rbegin()];  // operands have smaller numbers
    made_of.erase(std::prev(made_of.end()));
    if (node.kind == NodeKind::kReduce) {
      out = set_union(out, graph_.axes.leaves(node.axes));
    } else if (node.kind == NodeKind::kScan || node.kind == NodeKind::kMatmul ||
               node.kind == NodeKind::kConvolution) {
      return {};
    }
    made_of.insert(node.operands.begin(), node.operands.end());
  }
  return out;
}

// Only a value without the reduced axes is stored: it is small, so reading it again costs little.
Tensor Builder::put_apart(Tensor t) {
  const Axes reduced = reductions_apart_ ? reduced_in(t) : Axes();
  const bool left = set_intersection(reduced, sorted(graph_.axes.leaves(t.axes()))).empty();
  return reduced.empty() || !left ? t : materialized(std::move(t));
}

// Reduces in two steps: sum(softmax(x), all) is the sum of each row's sum. Rows that were reduced
// before come first, then the other dimensions of what they leave.
Tensor Builder::reduce_apart(const std::string& name, ReduceOp op, const Tensor& t,
                             const std::vector<int>& first, const std::vector<int>& rest) {
  return reduce(name, op, put_apart(reduce(name, op, t, first, true)), rest, true);
}

// Half types are wider in registers than in memory. An operator with discontinuities (comparisons,
// truncation, the position of a maximum) must see the value that PyTorch would have stored.
Tensor Builder::as_stored(Tensor t) {
  t = use(std::move(t));
  if (register_type(t.dtype) == t.dtype) return t;
  if (graph_.nodes[t.node].kind == NodeKind::kLoad) return t;
  const std::string name(triton_name(t.dtype));
  return pointwise("rounded", "{0}.to(" + name + ").to(tl.float32)", {t}, t.dtype);
}

Tensor Builder::cast(const std::string& name, Tensor t, DType dtype) {
  if (register_type(t.dtype) == register_type(dtype)) {
    t.dtype = t.input >= 0 ? t.dtype : dtype;  // a load keeps its own type in memory
    if (t.input >= 0 && t.dtype != dtype) {
      t = use(std::move(t));
      t.dtype = dtype;
    }
    return t;
  }
  if (!is_floating(dtype) && is_floating(t.dtype)) t = as_stored(std::move(t));
  const std::string expression =
      dtype == DType::kBool ? std::string("{0} != 0")
                            : "{0}.to(" + std::string(triton_name(register_type(dtype))) + ")";
  const DType from = register_type(t.dtype);
  return pointwise(name, expression, {t}, {from}, dtype);
}

}  // namespace kw::teacher
