#include "teacher/lower/lowering.h"

#include <algorithm>

#include "teacher/graph/extents.h"

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

Graph lower(const Task& task, const Stored& stored) {
  try {
    return Lowering(task, true, stored).run();
  } catch (const Refusal&) {
    return Lowering(task, false, stored).run();
  }
}

Lowering::Lowering(const Task& task, bool shared_uses, const Stored& stored)
    : task_(task), program_(task.forward), stored_(stored), shared_uses_(shared_uses) {}

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
    ++step_;
    step(*call);
  }
  step_ = -1;
  add_outputs();
  finish();
  graph_.program = std::move(program_);
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
      graph_.origins.push_back({{axis}, index, static_cast<int>(d)});
    }
    t.dims.push_back(std::move(pieces));
  }
  values_[program_.inputs[index]] = std::move(t);
}

namespace {

bool makes_rows(const OperatorRow& row) {
  return row.cls == OpClass::kReduction || row.cls == OpClass::kScan ||
         row.cls == OpClass::kSoftmax || row.cls == OpClass::kNorm || row.cls == OpClass::kLoss;
}

}  // namespace

void Lowering::step(const AtenCall& call) {
  AtenCall functional = call;
  const size_t dot = functional.op.rfind('.');
  if (!call.mutated.empty() && dot != std::string::npos && functional.op[dot - 1] == '_') {
    // x.add_(y) is add whose result replaces x
    if (call.mutated.size() != 1 || call.results.size() != 1) {
      throw Refusal{call.op + " writes in place"};
    }
    functional.op.erase(dot - 1, 1);
    if (!find_operator(functional.op)) functional.op = call.op;  // fill_
  }
  call_ = &functional;
  const OperatorRow* row = find_operator(functional.op);
  if (!row) throw Refusal{functional.op + " is not in the table"};
  const std::string base = functional.op.substr(0, functional.op.rfind('.'));
  for (ValueId id : call.mutated) updated_argument(id);
  if (makes_rows(*row)) {
    for (const auto& [name, arg] : functional.args) {
      if (!arg.is_value()) continue;
      const auto it = values_.find(arg.value());
      if (it == values_.end()) continue;
      const size_t stored = graph_.outputs.size();
      it->second = put_apart(it->second);
      if (graph_.outputs.size() > stored) graph_.outputs.back().holds = arg.value();
    }
  }
  const bool done = view() || copies() || lookups() || windows() || resampling() || grids(base) ||
                    loss(base) || factory() || norm(base) || softmax(base) || scan(base) ||
                    reduction() || matmul(base) || convolution(base) || arithmetic(base) ||
                    elementwise();
  if (!done) throw Refusal{functional.op + " is not written by the teacher"};
  for (ValueId id : call.mutated) {
    if (!overwritten_.erase(id)) throw Refusal{call.op + " writes in place"};
  }
  store_results(functional);
  call_ = nullptr;
}

// What reads it walks loops of its own.
void Lowering::store_results(const AtenCall& call) {
  for (ValueId id : call.results) {
    const auto it = values_.find(id);
    if (it == values_.end() || !stored_.values.count(id)) continue;
    const Tensor stored = materialized(it->second, &program_.values[id]);
    memory_[id] = stored.input;
    graph_.outputs.back().holds = id;
    it->second = fresh_clone(stored);
    for (int d = 0; d < it->second.rank(); ++d) {
      graph_.origins.push_back({it->second.axes(d), stored.input, d});
    }
  }
}

// The argument that a call overwrites when it overwrites this value, all of it; -1: none.
int Lowering::updated_argument(ValueId mutated) const {
  const Value& value = program_.values[mutated];
  int found = -1;
  for (int i = 0; i < graph_.inputs; ++i) {
    const Value& input = program_.values[program_.inputs[i]];
    if (input.storage != value.storage) continue;
    if (found >= 0) throw Refusal{"an argument is overwritten that aliases another"};
    found = i;
    bool whole =
        input.shape == value.shape && input.dtype == value.dtype && input.offset == value.offset;
    for (size_t d = 0; whole && d < value.shape.size(); ++d) {
      whole = value.shape[d] == 1 || (input.strides[d] == value.strides[d] && value.strides[d] > 0);
    }
    if (!whole) throw Refusal{"a part of an argument is overwritten"};
  }
  return found;
}

// From here on the memory of `mutated` holds `t`. Whoever still has it under an older name must not
// be read any more.
void Lowering::update(ValueId mutated, Tensor t) {
  const int storage = program_.values[mutated].storage;
  for (const auto& entry : values_) {
    if (program_.values[entry.first].storage == storage) stale_.insert(entry.first);
  }
  const int argument = updated_argument(mutated);
  if (argument >= 0) updates_[argument] = t;
  overwritten_.insert(mutated);
}

void Lowering::set_result(size_t index, Tensor t) {
  if (index >= call_->results.size() || call_->results[index] < 0) return;
  const ValueId id = call_->results[index];
  const Value& value = program_.values[id];
  if (std::count(value.shape.begin(), value.shape.end(), 0) > 0) throw Refusal{"an empty tensor"};
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
    if (program_.values[old].storage == value.storage) update(old, t);
  }
  if (t.node >= 0 && graph_.nodes[t.node].value < 0) graph_.nodes[t.node].value = id;
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
  name_clones(clones);
  return t;
}

// Clones of leaves have the sizes of these. One name of an argument and of each scratch memory is
// enough: leaves that were made one have several, which would become twice as many with each clone.
void Lowering::name_clones(const std::map<AxisId, AxisId>& clones) {
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
  std::vector<Output> results;
  for (ValueId input : program_.inputs) storages.insert(program_.values[input].storage);
  for (ValueId id : program_.outputs) {
    auto it = values_.find(id);
    if (it == values_.end() || stale_.count(id)) throw Refusal{"a result was not lowered"};
    const Value& value = program_.values[id];
    if (!storages.insert(value.storage).second) throw Refusal{"a result aliases another tensor"};
    std::optional<Output> stored = stored_result(id);
    results.push_back(stored ? std::move(*stored) : output_of(use(it->second), id));
  }
  for (const auto& [input, tensor] : updates_) {
    results.push_back(output_of(use(tensor), program_.inputs[input]));
    results.back().target = input;
  }
  // What materialized() put there comes last.
  graph_.outputs.insert(graph_.outputs.begin(), results.begin(), results.end());
  number_outputs(graph_);
}

// A result that is in memory already, as it is wanted.
std::optional<Output> Lowering::stored_result(ValueId id) {
  const auto memory = memory_.find(id);
  if (memory == memory_.end()) return std::nullopt;
  const auto found = std::find_if(graph_.outputs.begin(), graph_.outputs.end(),
                                  [&](const Output& o) { return o.target == memory->second; });
  if (found == graph_.outputs.end()) return std::nullopt;
  if (program_.values[found->value].strides != program_.values[id].strides) return std::nullopt;
  Output out = std::move(*found);
  graph_.outputs.erase(found);
  return out;
}

Output Lowering::output_of(const Tensor& t, ValueId id) const {
  const Value& value = program_.values[id];
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
    for (const Node& node : graph_.nodes) {  // its axes are not bound, but may be shared
      if (kind == NodeKind::kReduce && node.kind == NodeKind::kScan) first = &node;
    }
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
  align_outputs();
  rename_bound_axes();
  for (Node& node : graph_.nodes) {
    node.axes = graph_.axes.leaves(node.axes);
    settle_convolution(node);
    node.varies.clear();
    for (int operand : node.operands) {
      node.varies = set_union(node.varies, graph_.nodes[operand].varies);
    }
    switch (node.kind) {
      case NodeKind::kLoad:  // besides what its indices and conditions vary with
        for (const Piece& piece : node.pieces) {
          if (piece.stride.factor == 0) continue;
          node.varies = set_union(node.varies, graph_.axes.leaves(piece.axis));
        }
        break;
      case NodeKind::kReduce:
      case NodeKind::kWindow:
      case NodeKind::kMatmul:
        node.varies = set_minus(node.varies, node.axes);
        break;
      case NodeKind::kConvolution:
        node.varies = set_minus(node.varies, node.axes);
        for (const ConvDim& dim : node.conv) node.varies = set_union(node.varies, dim.out);
        break;
      case NodeKind::kIndex:
        node.varies = sorted(node.axes);
        break;
      case NodeKind::kScan:
        node.varies = set_union(node.varies, node.axes);
        break;
      case NodeKind::kPointwise:
      case NodeKind::kCount:
        break;
    }
  }
  merge_equal_nodes();
  drop_dead_nodes();
  name_sizes(graph_);
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
    key += convolution_key(node);
    if (node.kind == NodeKind::kLoad) {
      const auto& strides = program_.values[program_.inputs[node.input]].strides;
      append_strides(leaf_strides(graph_, node.pieces, "x", strides), key);
      int64_t offset = 0;
      for (const OffsetTerm& term : node.offset) {
        offset += term.index * stride_value(graph_, term.stride, strides);
      }
      key += "@" + std::to_string(offset);
      for (const Gathered& gathered : node.gathered) {
        key += " " + std::to_string(stride_value(graph_, gathered.stride, strides));
      }
      key += "?" + node.other;
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

}  // namespace kw::teacher
