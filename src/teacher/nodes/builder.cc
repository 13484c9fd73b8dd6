// What every lowering is made of: reading arguments, and the few ways of making a node.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

// ---- Arguments

bool Lowering::present(std::string_view name) const {
  const Arg* a = arg(name);
  return a && !a->is_none();
}

Tensor Lowering::operand(std::string_view name) {
  const Arg* a = arg(name);
  if (!a) throw Refusal{call_->op + " lacks " + std::string(name)};
  return tensor(*a);
}

double Lowering::number(std::string_view name, double otherwise) const {
  const Arg* a = arg(name);
  if (!a || a->is_none()) return otherwise;
  if (auto* i = std::get_if<int64_t>(&a->v)) return static_cast<double>(*i);
  if (auto* f = std::get_if<double>(&a->v)) return *f;
  if (auto* b = std::get_if<bool>(&a->v)) return *b;
  throw Refusal{call_->op + ": " + std::string(name) + " is not a number"};
}

int64_t Lowering::integer(std::string_view name, int64_t otherwise) const {
  const Arg* a = arg(name);
  if (!a || a->is_none()) return otherwise;
  if (auto* i = std::get_if<int64_t>(&a->v)) return *i;
  throw Refusal{call_->op + ": " + std::string(name) + " is not an integer"};
}

bool Lowering::flag(std::string_view name, bool otherwise) const {
  const Arg* a = arg(name);
  if (!a || a->is_none()) return otherwise;
  if (auto* b = std::get_if<bool>(&a->v)) return *b;
  throw Refusal{call_->op + ": " + std::string(name) + " is not a flag"};
}

std::vector<int64_t> Lowering::integers(std::string_view name) const {
  const Arg* a = arg(name);
  std::vector<int64_t> out;
  if (!a || a->is_none()) return out;
  if (auto* one = std::get_if<int64_t>(&a->v)) return {*one};
  const ArgList* list = std::get_if<ArgList>(&a->v);
  if (!list) throw Refusal{call_->op + ": " + std::string(name) + " is not a list"};
  for (const Arg& item : *list) {
    const int64_t* i = std::get_if<int64_t>(&item.v);
    if (!i) throw Refusal{call_->op + ": " + std::string(name) + " is not a list of integers"};
    out.push_back(*i);
  }
  return out;
}

int Lowering::wrap(int64_t dim, int rank) const {
  const int64_t limit = std::max(rank, 1);
  if (dim < -limit || dim >= limit) throw Refusal{call_->op + ": dimension out of range"};
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

// Dimensions to reduce; all of them when none are named.
std::vector<int> Lowering::dims_argument(std::string_view name, int rank) const {
  std::vector<int> out;
  for (int64_t d : integers(name)) {
    if (rank > 0) out.push_back(wrap(d, rank));
  }
  if (out.empty()) {
    for (int d = 0; d < rank; ++d) out.push_back(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

const Value& Lowering::result_value(size_t index) const {
  if (index >= call_->results.size() || call_->results[index] < 0) {
    throw Refusal{call_->op + " has no such result"};
  }
  return program_.values[call_->results[index]];
}

// ---- Building blocks

int Lowering::add_node(Node node) {
  node.step = step_;
  graph_.nodes.push_back(std::move(node));
  return static_cast<int>(graph_.nodes.size()) - 1;
}

int64_t Lowering::extent(const Tensor& t, int dim) const { return graph_.axes.size(t.axes(dim)); }

int64_t Lowering::numel(const Tensor& t) const { return graph_.axes.size(t.axes()); }

std::string Lowering::literal(double value, DType dtype) const {
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
  // A bare literal beside no fp64 tensor would be taken for fp32.
  if (dtype == DType::kFloat64) return "tl.full((), " + text + ", tl.float64)";
  return text;
}

std::string Lowering::literal(const Arg& a, DType dtype) const {
  if (auto* i = std::get_if<int64_t>(&a.v)) {
    if (is_integral(dtype)) return *i < 0 ? "(" + std::to_string(*i) + ")" : std::to_string(*i);
    return literal(static_cast<double>(*i), dtype);
  }
  if (auto* f = std::get_if<double>(&a.v)) return literal(*f, dtype);
  if (auto* b = std::get_if<bool>(&a.v)) return literal(*b ? 1.0 : 0.0, dtype);
  throw Refusal{call_->op + ": a number was expected"};
}

Tensor Lowering::pointwise(const std::string& name, const std::string& expression,
                           std::vector<Tensor> operands, DType dtype) {
  std::vector<DType> types(operands.size(), register_type(dtype));
  return pointwise(name, expression, std::move(operands), std::move(types), dtype);
}

Tensor Lowering::pointwise(const std::string& name, const std::string& expression,
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
  layouts_.push_back(out.axes());
  return out;
}

Tensor Lowering::constant(const std::string& text, DType dtype) {
  return pointwise("constant", text, {}, dtype);
}

Tensor Lowering::reduce(const std::string& name, ReduceOp op, Tensor t,
                        const std::vector<int>& dims, bool keepdim) {
  t = use(std::move(t));
  if (stored_.reductions) {
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

Tensor Lowering::count(const Tensor& t, const std::vector<int>& dims) {
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

// Row-major index over `dims` of t, as int64, of t's rank with the other dimensions broadcast.
Tensor Lowering::index_along(const Tensor& t, const std::vector<int>& dims) {
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

// A value that one kernel stores and later ones read: what a single loop nest cannot hold, such as
// a mean of values that are themselves means over another dimension.
Tensor Lowering::materialized(Tensor t, const Value* like) {
  t = use(std::move(t));
  Value value;
  value.dtype = t.dtype;
  value.storage = static_cast<int>(program_.values.size());  // no other has that many
  for (int d = 0; d < t.rank(); ++d) value.shape.push_back(extent(t, d));
  value.strides.assign(value.shape.size(), 1);
  for (size_t d = value.shape.size(); d-- > 1;) {
    value.strides[d - 1] = value.strides[d] * value.shape[d];
  }
  const auto repeats = [](int64_t stride) { return stride == 0; };
  if (like && std::none_of(like->strides.begin(), like->strides.end(), repeats)) {
    value.strides = like->strides;
  }
  program_.values.push_back(value);
  program_.inputs.push_back(static_cast<ValueId>(program_.values.size()) - 1);
  Output output = output_of(t, program_.inputs.back());
  output.target = static_cast<int>(program_.inputs.size()) - 1;
  output.holds = -1;
  t.input = output.target;
  t.node = -1;
  for (auto& dim : t.dims) dim.clear();
  for (const Piece& piece : output.pieces) t.dims[piece.stride.dim].push_back(piece);
  graph_.outputs.push_back(std::move(output));
  return t;
}

// Axes that were reduced in what `t` is made of; none when a scan or a product is there too.
Axes Lowering::reduced_in(const Tensor& t) const {
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

// Only what has none of the axes that were reduced any more: it is small, and who reads it again
// has little to read.
Tensor Lowering::put_apart(Tensor t) {
  const Axes reduced = stored_.reductions ? reduced_in(t) : Axes();
  const bool left = set_intersection(reduced, sorted(graph_.axes.leaves(t.axes()))).empty();
  return reduced.empty() || !left ? t : materialized(std::move(t));
}

// sum(softmax(x), all) is the sum of each row's sum: rows that were reduced before come first, the
// other dimensions from what they leave.
Tensor Lowering::reduce_apart(const std::string& name, ReduceOp op, const Tensor& t,
                              const std::vector<int>& first, const std::vector<int>& rest) {
  return reduce(name, op, put_apart(reduce(name, op, t, first, true)), rest, true);
}

// Half types are wider in registers than in memory. Where an operator jumps (comparisons,
// truncation, the position of a maximum) it must see the value PyTorch would have stored.
Tensor Lowering::as_stored(Tensor t) {
  t = use(std::move(t));
  if (register_type(t.dtype) == t.dtype) return t;
  if (graph_.nodes[t.node].kind == NodeKind::kLoad) return t;
  const std::string name(triton_name(t.dtype));
  return pointwise("rounded", "{0}.to(" + name + ").to(tl.float32)", {t}, t.dtype);
}

Tensor Lowering::cast(const std::string& name, Tensor t, DType dtype) {
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
