#include "policy/teacher/lowering.h"

#include <algorithm>
#include <charconv>
#include <cmath>

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

Graph lower(const Task& task) {
  try {
    return Lowering(task, true).run();
  } catch (const Refusal&) {
    return Lowering(task, false).run();
  }
}

Lowering::Lowering(const Task& task, bool shared_uses)
    : task_(task), program_(task.forward), shared_uses_(shared_uses) {}

Graph Lowering::run() {
  if (!task_.state.empty() || !task_.derive.outputs.empty()) {
    throw Refusal{"the task has state: only fragments are written"};
  }
  if (program_.inputs.empty()) throw Refusal{"no argument to take a device from"};
  graph_.inputs = static_cast<int>(program_.inputs.size());
  for (int i = 0; i < graph_.inputs; ++i) add_input(i, program_.values[program_.inputs[i]]);
  for (const Step& s : program_.steps) {
    const AtenCall* call = std::get_if<AtenCall>(&s);
    if (!call) throw Refusal{"a launch among the steps"};
    step(*call);
  }
  add_outputs();
  finish();
  return std::move(graph_);
}

// ---- Inputs, steps, results

void Lowering::add_input(int index, const Value& value) {
  Tensor t;
  t.input = index;
  t.dtype = value.dtype;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    if (value.shape[d] == 0) throw Refusal{"an empty tensor"};
    std::vector<Piece> pieces;
    if (value.shape[d] > 1) {
      const AxisId axis = graph_.axes.fresh(value.shape[d]);
      const int64_t factor = value.strides[d] == 0 ? 0 : 1;
      pieces.push_back({axis, {static_cast<int>(d), factor, {}}});
      origins_.push_back({{axis}, index, static_cast<int>(d)});
    }
    t.dims.push_back(std::move(pieces));
  }
  values_[program_.inputs[index]] = std::move(t);
}

void Lowering::step(const AtenCall& call) {
  AtenCall functional = call;
  if (!call.mutated.empty()) {  // x.add_(y) is add whose result replaces x
    const size_t dot = functional.op.rfind('.');
    if (dot == std::string::npos || functional.op[dot - 1] != '_' || call.results.size() != 1) {
      throw Refusal{call.op + " writes in place"};
    }
    functional.op.erase(dot - 1, 1);
  }
  call_ = &functional;
  const OperatorRow* row = find_operator(functional.op);
  if (!row) throw Refusal{functional.op + " is not in the table"};
  const std::string base = functional.op.substr(0, functional.op.rfind('.'));
  if (!call.mutated.empty()) mark_mutated();
  const bool done = view() || factory() || norm(base) || softmax(base) || reduction() ||
                    matmul(base) || elementwise();
  if (!done) throw Refusal{functional.op + " is not written by the teacher"};
  call_ = nullptr;
}

// Whoever still holds the memory under an older name must not be read any more.
void Lowering::mark_mutated() {
  for (ValueId id : call_->mutated) {
    const int storage = program_.values[id].storage;
    for (ValueId input : program_.inputs) {
      if (program_.values[input].storage == storage) throw Refusal{"an argument is overwritten"};
    }
  }
}

void Lowering::set_result(size_t index, Tensor t) {
  if (index >= call_->results.size() || call_->results[index] < 0) return;
  const ValueId id = call_->results[index];
  const Value& value = program_.values[id];
  bool same = t.rank() == static_cast<int>(value.shape.size());
  for (int d = 0; same && d < t.rank(); ++d) same = extent(t, d) == value.shape[d];
  if (!same) throw Refusal{call_->op + ": the result's shape is not as expected"};
  if (register_type(t.dtype) != register_type(value.dtype)) {
    throw Refusal{call_->op + ": the result's dtype is not as expected"};
  }
  if (t.input >= 0 && t.dtype != value.dtype) throw Refusal{call_->op + ": a view changes dtype"};
  t.dtype = value.dtype;
  layouts_.push_back(t.axes());
  for (ValueId old : call_->mutated) {
    for (const auto& entry : values_) {
      if (program_.values[entry.first].storage == program_.values[old].storage) {
        stale_.insert(entry.first);
      }
    }
  }
  values_[id] = std::move(t);
}

Tensor Lowering::tensor(const Arg& arg) {
  if (!arg.is_value()) throw Refusal{call_->op + ": a tensor was expected"};
  auto it = values_.find(arg.value());
  if (it == values_.end()) throw Refusal{call_->op + " reads a value that was not lowered"};
  if (stale_.count(arg.value())) throw Refusal{"a value is read after it was overwritten"};
  return it->second;
}

Tensor Lowering::fresh_clone(Tensor t) {
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
  const std::vector<Origin> known = origins_;
  for (const Origin& origin : known) {
    Axes mapped;
    for (AxisId leaf : graph_.axes.leaves(origin.axes)) {
      if (auto it = clones.find(leaf); it != clones.end()) mapped.push_back(it->second);
    }
    if (mapped.size() == graph_.axes.leaves(origin.axes).size()) {
      origins_.push_back({mapped, origin.input, origin.dim});
    }
  }
  return t;
}

// The tensor as a node: views of inputs become loads.
Tensor Lowering::use(Tensor t) {
  if (t.node >= 0) return t;
  if (t.input < 0) throw Refusal{"a value of no kind"};
  if (!shared_uses_) t = fresh_clone(std::move(t));
  Node load;
  load.kind = NodeKind::kLoad;
  load.dtype = register_type(t.dtype);
  load.stored = t.dtype;
  load.input = t.input;
  load.name = "x" + std::to_string(t.input);
  for (const auto& dim : t.dims) load.pieces.insert(load.pieces.end(), dim.begin(), dim.end());
  load.offset = t.offset;
  t.node = add_node(std::move(load));
  t.input = -1;
  t.offset.clear();
  layouts_.push_back(t.axes());
  return t;
}

void Lowering::add_outputs() {
  std::set<int> storages;
  for (ValueId input : program_.inputs) storages.insert(program_.values[input].storage);
  for (ValueId id : program_.outputs) {
    auto it = values_.find(id);
    if (it == values_.end() || stale_.count(id)) throw Refusal{"a result was not lowered"};
    const Value& value = program_.values[id];
    if (!storages.insert(value.storage).second) throw Refusal{"a result aliases another tensor"};
    Tensor t = use(it->second);
    Output output{t.node, id, {}};
    for (int d = 0; d < t.rank(); ++d) {
      if (value.shape[d] > 1 && value.strides[d] == 0) throw Refusal{"a result is expanded"};
      for (size_t i = 0; i < t.dims[d].size(); ++i) {
        Axes inner;
        for (size_t j = i + 1; j < t.dims[d].size(); ++j) inner.push_back(t.dims[d][j].axis);
        output.pieces.push_back({t.dims[d][i].axis, {d, 1, inner}});
      }
    }
    graph_.outputs.push_back(std::move(output));
  }
}

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

// ---- After the walk

bool Lowering::consistent(const AxisTable& axes) const {
  for (const Axes& layout : layouts_) {
    if (!all_distinct(axes.leaves(layout))) return false;
  }
  return true;
}

// Axes that reductions and products sum over are bound: any two of equal extent may be the same
// loop, and are made so, as families run one reduced loop at a time.
void Lowering::rename_bound_axes() {
  for (NodeKind kind : {NodeKind::kReduce, NodeKind::kMatmul}) {
    const Node* first = nullptr;
    for (const Node& node : graph_.nodes) {
      if (node.kind != kind) continue;
      if (!first) {
        first = &node;
        continue;
      }
      AxisTable trial = graph_.axes;
      if (trial.unify(first->axes, node.axes) && consistent(trial)) graph_.axes = std::move(trial);
    }
  }
}

void Lowering::finish() {
  if (!consistent(graph_.axes)) throw Refusal{"a value would be read along its diagonal"};
  rename_bound_axes();
  for (Node& node : graph_.nodes) {
    node.axes = graph_.axes.leaves(node.axes);
    node.varies.clear();
    for (int operand : node.operands) {
      node.varies = set_union(node.varies, graph_.nodes[operand].varies);
    }
    switch (node.kind) {
      case NodeKind::kLoad:
        for (const Piece& piece : node.pieces) {
          if (piece.stride.factor == 0) continue;
          node.varies = set_union(node.varies, graph_.axes.leaves(piece.axis));
        }
        break;
      case NodeKind::kReduce:
      case NodeKind::kMatmul:
        node.varies = set_minus(node.varies, node.axes);
        break;
      case NodeKind::kIndex:
        node.varies = sorted(node.axes);
        break;
      case NodeKind::kPointwise:
      case NodeKind::kCount:
        break;
    }
  }
  merge_equal_nodes();
  drop_dead_nodes();
  name_sizes();
}

namespace {

void append_strides(const std::vector<LeafStride>& strides, std::string& key) {
  std::vector<std::pair<AxisId, int64_t>> order;
  for (const LeafStride& s : strides) order.emplace_back(s.axis, s.stride);
  std::sort(order.begin(), order.end());
  for (auto [axis, stride] : order) {
    key += " " + std::to_string(axis) + ":" + std::to_string(stride);
  }
}

}  // namespace

void Lowering::merge_equal_nodes() {
  std::map<std::string, int> known;
  std::vector<int> replacement(graph_.nodes.size());
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    Node& node = graph_.nodes[i];
    std::string key = std::to_string(static_cast<int>(node.kind)) + "|" +
                      std::string(dtype_name(node.dtype)) + "|" + node.expression + "|" +
                      std::to_string(node.input) + "|" +
                      std::to_string(static_cast<int>(node.reduce)) + "|";
    for (int& operand : node.operands) {
      operand = replacement[operand];
      key += std::to_string(operand) + ",";
    }
    for (DType type : node.operand_types) key += std::string(dtype_name(type)) + ",";
    key += "|";
    for (AxisId axis : node.axes) key += std::to_string(axis) + ",";
    if (node.kind == NodeKind::kLoad) {
      const auto& strides = program_.values[program_.inputs[node.input]].strides;
      append_strides(leaf_strides(graph_, node.pieces, "x", strides), key);
      int64_t offset = 0;
      for (const OffsetTerm& term : node.offset) {
        offset += term.index * stride_value(graph_, term.stride, strides);
      }
      key += "@" + std::to_string(offset);
    }
    replacement[i] = known.emplace(key, static_cast<int>(i)).first->second;
  }
  for (Output& output : graph_.outputs) output.node = replacement[output.node];
}

void Lowering::drop_dead_nodes() {
  std::vector<bool> live(graph_.nodes.size(), false);
  for (const Output& output : graph_.outputs) live[output.node] = true;
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (int operand : graph_.nodes[i].operands) live[operand] = true;
  }
  std::vector<int> position(graph_.nodes.size(), -1);
  std::vector<Node> kept;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!live[i]) continue;
    for (int& operand : graph_.nodes[i].operands) operand = position[operand];
    position[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(graph_.nodes[i]));
  }
  graph_.nodes = std::move(kept);
  for (Output& output : graph_.outputs) output.node = position[output.node];
}

// Every leaf's size as host code over the arguments' shapes. A dimension that a view took apart
// leaves one part open for each other part: those stay numbers (heads, groups).
void Lowering::name_sizes() {
  auto unknown = [&](const Axes& leaves) {
    Axes out;
    for (AxisId leaf : leaves) {
      if (!graph_.size_text.count(leaf)) out.push_back(leaf);
    }
    return out;
  };
  for (size_t allowed = 1; allowed <= 8; ++allowed) {
    for (const Origin& origin : origins_) {
      const Axes leaves = graph_.axes.leaves(origin.axes);
      Axes open = unknown(leaves);
      if (open.empty() || open.size() > allowed) continue;
      if (allowed == 1 && leaves.size() > 1) continue;  // whole dimensions name their leaf first
      while (open.size() > 1) {
        graph_.size_text[open[0]] = std::to_string(graph_.axes.size(open[0]));
        open.erase(open.begin());
      }
      std::string text =
          "a" + std::to_string(origin.input) + ".shape[" + std::to_string(origin.dim) + "]";
      Axes others;
      for (AxisId leaf : leaves) {
        if (leaf != open[0]) others.push_back(leaf);
      }
      if (!others.empty()) {
        const std::string divisor = size_text(graph_, others);
        const bool simple = divisor.find(' ') == std::string::npos;
        text += " // " + (simple ? divisor : "(" + divisor + ")");
      }
      graph_.size_text[open[0]] = text;
    }
  }
}

}  // namespace kw::teacher
