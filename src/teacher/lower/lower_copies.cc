// Operators that move elements: every result element is one element of an operand, or a constant.
#include <algorithm>
#include <numeric>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

AxisId Lowering::loop_of(int64_t size) {
  if (size < 1) throw Refusal{"an empty tensor"};
  return size > 1 ? graph_.axes.fresh(size) : -1;
}

std::vector<Piece> Lowering::pieces_of(AxisId axis) {
  if (axis < 0) return {};
  return {{axis, {}}};
}

bool Lowering::copies() {
  const std::string base = call_->op.substr(0, call_->op.rfind('.'));
  if (base == "aten.cat" || base == "aten.stack") {
    concatenated(base == "aten.stack");
  } else if (base.find("_pad") != std::string::npos || base == "aten.pad") {
    padded(base);
  } else if (base == "aten.copy_") {
    const Value& result = result_value();
    set_result(0, expanded(cast("cast", operand("src"), result.dtype), result.shape));
  } else if (base == "aten.roll") {
    rolled();
  } else if (base == "aten.flip") {
    set_result(0, flipped(operand("self"), integers("dims")));
  } else if (base == "aten.rot90") {
    turned();
  } else if (base == "aten.repeat" || base == "aten.tile" ||
             call_->op == "aten.repeat_interleave.self_int") {
    repeated();
  } else if (base == "aten.pixel_shuffle" || base == "aten.pixel_unshuffle" ||
             base == "aten.channel_shuffle") {
    shuffled();
  } else {
    return false;
  }
  return true;
}

// The dimension `dims[i]` of each tensor, broadcast and walked together.
std::vector<Piece> Lowering::joined(const std::vector<Tensor>& tensors,
                                    const std::vector<int>& dims) {
  Axes axes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (dims[i] < 0) continue;
    const Axes own = graph_.axes.leaves(tensors[i].axes(dims[i]));
    if (own.empty()) continue;
    if (axes.empty()) {
      axes = own;
    } else if (!graph_.axes.unify(axes, own)) {
      throw Refusal{call_->op + ": dimensions cannot be walked together"};
    }
  }
  std::vector<Piece> out;
  for (AxisId leaf : graph_.axes.leaves(axes)) out.push_back({leaf, {}});
  return out;
}

// One axis over all parts; each part is read at its own position, where the axis is inside of it.
void Lowering::concatenated(bool stacked) {
  const Value& result = result_value();
  const Arg* list = arg("tensors");
  const ArgList* items = list ? std::get_if<ArgList>(&list->v) : nullptr;
  if (!items || items->empty()) throw Refusal{call_->op + " of nothing"};
  const int rank = static_cast<int>(result.shape.size());
  const int dim = wrap(integer("dim", 0), rank);
  std::vector<Tensor> parts;
  for (const Arg& item : *items) {
    Tensor t = use(cast("cast", tensor(item), result.dtype));
    if (stacked) t.dims.insert(t.dims.begin() + dim, std::vector<Piece>());
    if (t.rank() != rank) throw Refusal{call_->op + " of tensors of several ranks"};
    parts.push_back(std::move(t));
  }
  if (parts.size() == 1) return set_result(0, parts[0]);
  std::vector<std::vector<Piece>> dims(rank);
  for (int d = 0; d < rank; ++d) {
    if (d != dim) dims[d] = joined(parts, std::vector<int>(parts.size(), d));
  }
  const AxisId axis = loop_of(result.shape[dim]);
  dims[dim] = pieces_of(axis);
  const int place_of = index_of(axis);
  int64_t start = 0;
  std::vector<std::pair<int, int64_t>> pieces;  // node, end
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t end = start + extent(parts[i], dim);
    const std::string after = "{0} >= " + std::to_string(start);
    const std::string before = "{0} < " + std::to_string(end);
    const std::string inside = i == 0                  ? before
                               : i + 1 == parts.size() ? after
                                                       : "(" + after + ") & (" + before + ")";
    pieces.emplace_back(part_at(parts[i], dim, axis, place_of, start, inside), end);
    start = end;
  }
  const DType type = register_type(result.dtype);
  Tensor out;
  out.node = pieces.back().first;
  for (size_t i = pieces.size() - 1; i-- > 0;) {
    out.node =
        expression_node(stacked ? "stack" : "cat",
                        "tl.where({0} < " + std::to_string(pieces[i].second) + ", {1}, {2})",
                        {place_of, pieces[i].first, out.node}, {DType::kInt32, type, type}, type);
  }
  out.dtype = result.dtype;
  out.dims = std::move(dims);
  layouts_.push_back(out.axes());
  set_result(0, std::move(out));
}

// A part of a concatenation as a function of the position in the whole.
int Lowering::part_at(const Tensor& part, int dim, AxisId axis, int place_of, int64_t start,
                      const std::string& inside) {
  Position position;
  position.guard = condition_node(inside, {place_of});
  std::map<int, int> done;
  if (extent(part, dim) == 1) return guarded(part.node, position.guard, done);
  position.node = place_of;
  if (start != 0) {
    position.node = integer_node("index", "{0} - " + std::to_string(start), {place_of});
  }
  position.along = axis;
  position.step = 1;
  Positions at;
  place(part, dim, position, at);
  return substituted(part.node, at, done);
}

// Each padded dimension is walked by a new axis. A constant is a choice by position; the other
// modes read at a position that is folded back into the dimension.
void Lowering::padded(const std::string& base) {
  Tensor t = operand("self");
  const std::vector<int64_t> pad = integers(arg("padding") ? "padding" : "pad");
  const Arg* how = arg("mode");
  const std::string* given = how ? std::get_if<std::string>(&how->v) : nullptr;
  const std::string mode = base.starts_with("aten.reflection")    ? "reflect"
                           : base.starts_with("aten.replication") ? "replicate"
                           : base == "aten._pad_circular"         ? "circular"
                           : given                                ? *given
                                                                  : "constant";
  if (pad.size() % 2 != 0 || static_cast<int>(pad.size()) / 2 > t.rank()) {
    throw Refusal{"a padding of odd length"};
  }
  const DType reg = register_type(t.dtype);
  const std::string value = present("value") ? literal(*arg("value"), reg) : literal(0.0, reg);
  const int rank = t.rank();
  std::vector<int64_t> amounts(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < pad.size(); ++i) {  // pairs start at the last dimension
    amounts[2 * (static_cast<size_t>(rank) - 1 - i / 2) + i % 2] = pad[i];
  }
  for (int d = 0; d < rank; ++d) {  // negative amounts cut
    const int64_t before = std::min<int64_t>(amounts[2 * d], 0);
    const int64_t after = std::min<int64_t>(amounts[2 * d + 1], 0);
    if (before + after == 0) continue;
    if (mode != "constant" && (amounts[2 * d] > 0 || amounts[2 * d + 1] > 0)) {
      throw Refusal{"a padding that cuts and repeats a dimension"};
    }
    t = sliced(t, d, -before, 1, extent(t, d) + before + after);
  }
  set_result(0, padded_by(use(std::move(t)), mode, amounts, value));
}

// `pad`: before and after for each dimension; what is negative has been cut.
Tensor Lowering::padded_by(Tensor t, const std::string& mode, const std::vector<int64_t>& pad,
                           const std::string& value) {
  std::vector<std::vector<Piece>> dims = t.dims;
  std::vector<int> guards, lone;
  Positions at;
  for (int d = 0; d < t.rank(); ++d) {
    const int64_t before = std::max<int64_t>(pad[2 * d], 0);
    const int64_t after = std::max<int64_t>(pad[2 * d + 1], 0);
    if (before + after == 0) continue;
    const int64_t size = extent(t, d);
    const AxisId axis = loop_of(size + before + after);
    dims[d] = pieces_of(axis);
    if (mode == "constant") {
      const Position position = ranged({{axis, 1}}, -before, size);
      guards.push_back(position.guard);
      if (size == 1) lone.push_back(position.guard);
      place(t, d, position, at);
    } else if (size > 1) {  // a single element is the same everywhere
      place(t, d, folded_back(mode, axis, before, size), at);
    }
  }
  Tensor out = taken(std::move(t), at, std::move(dims));
  for (int guard : lone) {
    std::map<int, int> done;
    out.node = guarded(out.node, guard, done);
  }
  return selected(guards, std::move(out), value);
}

Position Lowering::folded_back(const std::string& mode, AxisId axis, int64_t before, int64_t size) {
  const std::string last = std::to_string(size - 1);
  const std::string inside = before == 0 ? "{0}" : "{0} - " + std::to_string(before);
  std::string text;
  if (mode == "reflect") {
    text = last + " - tl.abs(" + last + " - tl.abs(" + inside + "))";
  } else if (mode == "replicate") {
    text = "tl.minimum(tl.maximum(" + inside + ", 0), " + last + ")";
  } else if (mode == "circular") {
    text = "({0} + " + std::to_string(size - before % size) + ") % " + std::to_string(size);
  } else {
    throw Refusal{"a padding mode " + mode};
  }
  Position position;
  position.node = integer_node("index", text, {index_of(axis)});
  position.along = axis;
  position.step = 1;
  return position;
}

void Lowering::rolled() {
  Tensor t = operand("self");
  const std::vector<int64_t> shifts = integers("shifts"), dims = integers("dims");
  const std::vector<int64_t>& shape = result_value().shape;
  const bool flat = dims.empty();
  if (flat) t = reshaped(t, {numel(t)});
  if (shifts.size() != (flat ? 1 : dims.size())) throw Refusal{"a roll of other dimensions"};
  t = use(t);
  std::map<int, int64_t> shift;
  for (size_t i = 0; i < shifts.size(); ++i) shift[flat ? 0 : wrap(dims[i], t.rank())] += shifts[i];
  Positions at;
  std::vector<std::vector<Piece>> out = t.dims;
  for (auto [d, by] : shift) {
    if (t.rank() == 0) continue;
    const int64_t size = extent(t, d);
    const int64_t ahead = ((-by) % size + size) % size;
    if (ahead == 0) continue;
    const AxisId axis = loop_of(size);
    Position position;
    position.along = axis;
    position.step = 1;
    position.node =
        integer_node("index",
                     "tl.where({0} < " + std::to_string(size - ahead) + ", {0} + " +
                         std::to_string(ahead) + ", {0} - " + std::to_string(size - ahead) + ")",
                     {index_of(axis)});
    place(t, d, position, at);
    out[d] = pieces_of(axis);
  }
  t = taken(std::move(t), at, std::move(out));
  set_result(0, flat ? reshaped(std::move(t), shape) : t);
}

Tensor Lowering::flipped(const Tensor& given, const std::vector<int64_t>& which) {
  const Tensor t = use(given);
  Positions at;
  std::vector<std::vector<Piece>> dims = t.dims;
  for (int64_t dim : which) {
    if (t.rank() == 0) continue;
    const int d = wrap(dim, t.rank());
    const int64_t size = extent(t, d);
    const AxisId axis = loop_of(size);
    place(t, d, ranged({{axis, -1}}, size - 1, size), at);
    dims[d] = pieces_of(axis);
  }
  return taken(t, at, std::move(dims));
}

// rot90: a flip and a transposition.
void Lowering::turned() {
  Tensor t = operand("self");
  std::vector<int64_t> dims = integers("dims");
  if (dims.empty()) dims = {0, 1};
  if (dims.size() != 2 || t.rank() < 2) throw Refusal{"a rotation in other than two dimensions"};
  const int64_t quarters = (integer("k", 1) % 4 + 4) % 4;
  if (quarters == 2) t = flipped(t, dims);
  if (quarters % 2 == 1) {
    t = flipped(t, {dims[quarters == 1 ? 1 : 0]});
    std::vector<int> order(t.rank());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[wrap(dims[0], t.rank())], order[wrap(dims[1], t.rank())]);
    t = permuted(t, order);
  }
  set_result(0, std::move(t));
}

// Repetition is an axis along which nothing varies.
void Lowering::repeated() {
  Tensor t = operand("self");
  Stride none;
  none.factor = 0;
  auto repeat = [&](int d, int64_t times, bool each) {
    if (times < 1) throw Refusal{"an empty tensor"};
    if (times == 1) return;
    auto& dim = t.dims[d];
    dim.insert(each ? dim.end() : dim.begin(), {graph_.axes.fresh(times), none});
  };
  if (call_->op == "aten.repeat_interleave.self_int") {
    if (!present("dim")) t = reshaped(t, {numel(t)});
    const int d = wrap(integer("dim", 0), t.rank());
    if (t.rank() == 0) t.dims.emplace_back();
    repeat(d, integer("repeats", 1), true);
  } else {
    const std::vector<int64_t> times = integers(present("repeats") ? "repeats" : "dims");
    while (t.rank() < static_cast<int>(times.size()))
      t.dims.insert(t.dims.begin(), std::vector<Piece>());
    const int first = t.rank() - static_cast<int>(times.size());
    for (size_t i = 0; i < times.size(); ++i) repeat(first + static_cast<int>(i), times[i], false);
  }
  set_result(0, std::move(t));
}

// Dimensions taken apart, permuted and put together again.
void Lowering::shuffled() {
  const Tensor t = operand("self");
  const std::vector<int64_t>& shape = result_value().shape;
  const int rank = t.rank();
  std::vector<int64_t> apart;
  std::vector<int> order;
  if (call_->op == "aten.channel_shuffle.default") {
    if (rank < 2) throw Refusal{"a shuffle of a vector"};
    const int64_t groups = integer("groups", 1);
    if (groups < 1) throw Refusal{"a shuffle of no groups"};
    for (int d = 0; d < rank; ++d) {
      if (d == 1) apart.push_back(groups);
      apart.push_back(d == 1 ? extent(t, 1) / groups : extent(t, d));
    }
    order.resize(apart.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[1], order[2]);
    return set_result(0, reshaped(permuted(reshaped(t, apart), order), shape));
  }
  if (rank < 3) throw Refusal{"a shuffle of too few dimensions"};
  const bool up = call_->op == "aten.pixel_shuffle.default";
  const int64_t factor = integer(up ? "upscale_factor" : "downscale_factor", 1);
  if (factor < 1) throw Refusal{"a shuffle by no factor"};
  for (int d = 0; d < rank - 3; ++d) {
    apart.push_back(extent(t, d));
    order.push_back(d);
  }
  const int64_t c = extent(t, rank - 3), h = extent(t, rank - 2), w = extent(t, rank - 1);
  const int first = rank - 3;
  std::vector<int> rest;
  if (up) {
    for (int64_t n : {c / (factor * factor), factor, factor, h, w}) apart.push_back(n);
    rest = {0, 3, 1, 4, 2};
  } else {
    for (int64_t n : {c, h / factor, factor, w / factor, factor}) apart.push_back(n);
    rest = {0, 2, 4, 1, 3};
  }
  for (int d : rest) order.push_back(first + d);
  set_result(0, reshaped(permuted(reshaped(t, apart), order), shape));
}

}  // namespace kw::teacher
