// Operators that move elements: every result element is one element of an operand, or a constant.
#include <algorithm>
#include <numeric>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Returns a part of a concatenation as a function of the position in the whole.
int part_at(Builder& b, const Tensor& part, int dim, AxisId axis, int place_of, int64_t start,
            const std::string& inside) {
  Position position;
  position.guard = condition_node(b, inside, {place_of});
  if (b.extent(part, dim) == 1) return guarded(b, part.node, position.guard);
  position.node = place_of;
  if (start != 0) {
    position.node = integer_node(b, "index", "{0} - " + std::to_string(start), {place_of});
  }
  position.along = axis;
  position.step = 1;
  Positions at;
  place(b, part, dim, position, at);
  return substituted(b, part.node, at);
}

// One axis walks all parts. Each part is read at the position within it, if the axis is inside it.
void concatenated(Builder& b, Call& call, bool stacked) {
  const Value& result = call.result_value();
  const Arg* list = call.arg("tensors");
  const ArgList* items = list ? std::get_if<ArgList>(&list->v) : nullptr;
  if (!items || items->empty()) throw Refusal{call.op() + " of nothing"};
  const int rank = static_cast<int>(result.shape.size());
  const int dim = call.wrap(call.integer("dim", 0), rank);
  std::vector<Tensor> parts;
  for (const Arg& item : *items) {
    Tensor t = b.use(b.cast("cast", call.tensor(item), result.dtype));
    if (stacked) t.dims.insert(t.dims.begin() + dim, std::vector<Piece>());
    if (t.rank() != rank) throw Refusal{call.op() + " of tensors of several ranks"};
    parts.push_back(std::move(t));
  }
  if (parts.size() == 1) return call.set_result(0, parts[0]);
  std::vector<std::vector<Piece>> dims(rank);
  for (int d = 0; d < rank; ++d) {
    if (d != dim) dims[d] = joined(b, call, parts, std::vector<int>(parts.size(), d));
  }
  const AxisId axis = b.loop_of(result.shape[dim]);
  dims[dim] = pieces_of(axis);
  const int place_of = index_of(b, axis);
  int64_t start = 0;
  std::vector<std::pair<int, int64_t>> pieces;  // node, end
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t end = start + b.extent(parts[i], dim);
    const std::string after = "{0} >= " + std::to_string(start);
    const std::string before = "{0} < " + std::to_string(end);
    const std::string inside = i == 0                  ? before
                               : i + 1 == parts.size() ? after
                                                       : "(" + after + ") & (" + before + ")";
    pieces.emplace_back(part_at(b, parts[i], dim, axis, place_of, start, inside), end);
    start = end;
  }
  const DType type = register_type(result.dtype);
  Tensor out;
  out.node = pieces.back().first;
  for (size_t i = pieces.size() - 1; i-- > 0;) {
    out.node =
        expression_node(b, stacked ? "stack" : "cat",
                        "tl.where({0} < " + std::to_string(pieces[i].second) + ", {1}, {2})",
                        {place_of, pieces[i].first, out.node}, {DType::kInt32, type, type}, type);
  }
  out.dtype = result.dtype;
  out.dims = std::move(dims);
  b.note_layout(out.axes());
  call.set_result(0, std::move(out));
}

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

// Returns the position that a padded dimension's index reads at, by a mode other than constants.
Position folded_back(Builder& b, PadMode mode, AxisId axis, int64_t before, int64_t size) {
  const std::string last = std::to_string(size - 1);
  const std::string inside = before == 0 ? "{0}" : "{0} - " + std::to_string(before);
  std::string text = "({0} + " + std::to_string(size - before % size) + ") % " +
                     std::to_string(size);  // kCircular
  if (mode == PadMode::kReflect) {
    text = last + " - tl.abs(" + last + " - tl.abs(" + inside + "))";
  } else if (mode == PadMode::kReplicate) {
    text = "tl.minimum(tl.maximum(" + inside + ", 0), " + last + ")";
  }
  Position position;
  position.node = integer_node(b, "index", text, {index_of(b, axis)});
  position.along = axis;
  position.step = 1;
  return position;
}

// Returns `t` with `pad` elements before and after each dimension; negative amounts have been cut.
Tensor padded_by(Builder& b, Tensor t, PadMode mode, const std::vector<int64_t>& pad,
                 const std::string& value) {
  std::vector<std::vector<Piece>> dims = t.dims;
  std::vector<int> guards, lone;
  Positions at;
  for (int d = 0; d < t.rank(); ++d) {
    const int64_t before = std::max<int64_t>(pad[2 * d], 0);
    const int64_t after = std::max<int64_t>(pad[2 * d + 1], 0);
    if (before + after == 0) continue;
    const int64_t size = b.extent(t, d);
    const AxisId axis = b.loop_of(size + before + after);
    dims[d] = pieces_of(axis);
    if (mode == PadMode::kConstant) {
      const Position position = ranged(b, {{axis, 1}}, -before, size);
      guards.push_back(position.guard);
      if (size == 1) lone.push_back(position.guard);
      place(b, t, d, position, at);
    } else if (size > 1) {  // a single element is the same everywhere
      place(b, t, d, folded_back(b, mode, axis, before, size), at);
    }
  }
  Tensor out = taken(b, std::move(t), at, std::move(dims));
  for (int guard : lone) {
    out.node = guarded(b, out.node, guard);
  }
  return selected(b, guards, std::move(out), value);
}

// Each padded dimension is walked by a new axis. A constant is a choice by position; the other
// modes read at a position that is folded back into the dimension.
void give_padded(Builder& b, Call& call, PadMode mode) {
  Tensor t = call.operand("self");
  const std::vector<int64_t> pad = call.integers(call.arg("padding") ? "padding" : "pad");
  if (pad.size() % 2 != 0 || static_cast<int>(pad.size()) / 2 > t.rank()) {
    throw Refusal{"a padding of odd length"};
  }
  const DType reg = register_type(t.dtype);
  const std::string value =
      call.present("value") ? call.literal(*call.arg("value"), reg) : literal(0.0, reg);
  const int rank = t.rank();
  std::vector<int64_t> amounts(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < pad.size(); ++i) {  // pairs start at the last dimension
    amounts[2 * (static_cast<size_t>(rank) - 1 - i / 2) + i % 2] = pad[i];
  }
  for (int d = 0; d < rank; ++d) {  // negative amounts cut
    const int64_t before = std::min<int64_t>(amounts[2 * d], 0);
    const int64_t after = std::min<int64_t>(amounts[2 * d + 1], 0);
    if (before + after == 0) continue;
    if (mode != PadMode::kConstant && (amounts[2 * d] > 0 || amounts[2 * d + 1] > 0)) {
      throw Refusal{"a padding that cuts and repeats a dimension"};
    }
    t = sliced(b, t, d, -before, 1, b.extent(t, d) + before + after);
  }
  call.set_result(0, padded_by(b, b.use(std::move(t)), mode, amounts, value));
}

void lower_roll(Builder& b, Call& call) {
  Tensor t = call.operand("self");
  const std::vector<int64_t> shifts = call.integers("shifts"), dims = call.integers("dims");
  const std::vector<int64_t>& shape = call.result_value().shape;
  const bool flat = dims.empty();
  if (flat) t = reshaped(b, t, {b.numel(t)});
  if (shifts.size() != (flat ? 1 : dims.size())) throw Refusal{"a roll of other dimensions"};
  t = b.use(t);
  std::map<int, int64_t> shift;
  for (size_t i = 0; i < shifts.size(); ++i)
    shift[flat ? 0 : call.wrap(dims[i], t.rank())] += shifts[i];
  Positions at;
  std::vector<std::vector<Piece>> out = t.dims;
  for (auto [d, by] : shift) {
    if (t.rank() == 0) continue;
    const int64_t size = b.extent(t, d);
    const int64_t ahead = ((-by) % size + size) % size;
    if (ahead == 0) continue;
    const AxisId axis = b.loop_of(size);
    Position position;
    position.along = axis;
    position.step = 1;
    position.node =
        integer_node(b, "index",
                     "tl.where({0} < " + std::to_string(size - ahead) + ", {0} + " +
                         std::to_string(ahead) + ", {0} - " + std::to_string(size - ahead) + ")",
                     {index_of(b, axis)});
    place(b, t, d, position, at);
    out[d] = pieces_of(axis);
  }
  t = taken(b, std::move(t), at, std::move(out));
  call.set_result(0, flat ? reshaped(b, std::move(t), shape) : t);
}

Tensor flipped(Builder& b, const Call& call, const Tensor& given,
               const std::vector<int64_t>& which) {
  const Tensor t = b.use(given);
  Positions at;
  std::vector<std::vector<Piece>> dims = t.dims;
  for (int64_t dim : which) {
    if (t.rank() == 0) continue;
    const int d = call.wrap(dim, t.rank());
    const int64_t size = b.extent(t, d);
    const AxisId axis = b.loop_of(size);
    place(b, t, d, ranged(b, {{axis, -1}}, size - 1, size), at);
    dims[d] = pieces_of(axis);
  }
  return taken(b, t, at, std::move(dims));
}

// rot90 is a flip and a transposition.
void lower_rot90(Builder& b, Call& call) {
  Tensor t = call.operand("self");
  std::vector<int64_t> dims = call.integers("dims");
  if (dims.empty()) dims = {0, 1};
  if (dims.size() != 2 || t.rank() < 2) throw Refusal{"a rotation in other than two dimensions"};
  const int64_t quarters = (call.integer("k", 1) % 4 + 4) % 4;
  if (quarters == 2) t = flipped(b, call, t, dims);
  if (quarters % 2 == 1) {
    t = flipped(b, call, t, {dims[quarters == 1 ? 1 : 0]});
    std::vector<int> order(t.rank());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[call.wrap(dims[0], t.rank())], order[call.wrap(dims[1], t.rank())]);
    t = permuted(t, order);
  }
  call.set_result(0, std::move(t));
}

// Repetition is an axis along which nothing varies.
void lower_repeat(Builder& b, Call& call) {
  Tensor t = call.operand("self");
  Stride none;
  none.factor = 0;
  auto repeat = [&](int d, int64_t times, bool each) {
    if (times < 1) throw Refusal{"an empty tensor"};
    if (times == 1) return;
    auto& dim = t.dims[d];
    dim.insert(each ? dim.end() : dim.begin(), {b.axes().fresh(times), none});
  };
  if (call.op() == "aten.repeat_interleave.self_int") {
    if (!call.present("dim")) t = reshaped(b, t, {b.numel(t)});
    const int d = call.wrap(call.integer("dim", 0), t.rank());
    if (t.rank() == 0) t.dims.emplace_back();
    repeat(d, call.integer("repeats", 1), true);
  } else {
    const std::vector<int64_t> times = call.integers("repeats");
    while (t.rank() < static_cast<int>(times.size()))
      t.dims.insert(t.dims.begin(), std::vector<Piece>());
    const int first = t.rank() - static_cast<int>(times.size());
    for (size_t i = 0; i < times.size(); ++i) repeat(first + static_cast<int>(i), times[i], false);
  }
  call.set_result(0, std::move(t));
}

// Shuffles take dimensions apart, permute the parts and put them together again.
void lower_shuffle(Builder& b, Call& call) {
  const Tensor t = call.operand("self");
  const std::vector<int64_t>& shape = call.result_value().shape;
  const int rank = t.rank();
  std::vector<int64_t> apart;
  std::vector<int> order;
  if (call.op() == "aten.channel_shuffle.default") {
    if (rank < 2) throw Refusal{"a shuffle of a vector"};
    const int64_t groups = call.integer("groups", 1);
    if (groups < 1) throw Refusal{"a shuffle of no groups"};
    for (int d = 0; d < rank; ++d) {
      if (d == 1) apart.push_back(groups);
      apart.push_back(d == 1 ? b.extent(t, 1) / groups : b.extent(t, d));
    }
    order.resize(apart.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[1], order[2]);
    return call.set_result(0, reshaped(b, permuted(reshaped(b, t, apart), order), shape));
  }
  if (rank < 3) throw Refusal{"a shuffle of too few dimensions"};
  const bool up = call.op() == "aten.pixel_shuffle.default";
  const int64_t factor = call.integer(up ? "upscale_factor" : "downscale_factor", 1);
  if (factor < 1) throw Refusal{"a shuffle by no factor"};
  for (int d = 0; d < rank - 3; ++d) {
    apart.push_back(b.extent(t, d));
    order.push_back(d);
  }
  const int64_t c = b.extent(t, rank - 3), h = b.extent(t, rank - 2), w = b.extent(t, rank - 1);
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
  call.set_result(0, reshaped(b, permuted(reshaped(b, t, apart), order), shape));
}

void lower_cat(Builder& b, Call& call) { concatenated(b, call, false); }
void lower_stack(Builder& b, Call& call) { concatenated(b, call, true); }

void lower_copy(Builder& b, Call& call) {
  const Value& result = call.result_value();
  call.set_result(0, expanded(b, b.cast("cast", call.operand("src"), result.dtype), result.shape));
}

void lower_flip(Builder& b, Call& call) {
  call.set_result(0, flipped(b, call, call.operand("self"), call.integers("dims")));
}

void lower_constant_pad(Builder& b, Call& call) { give_padded(b, call, PadMode::kConstant); }
void lower_reflection_pad(Builder& b, Call& call) { give_padded(b, call, PadMode::kReflect); }
void lower_replication_pad(Builder& b, Call& call) { give_padded(b, call, PadMode::kReplicate); }
void lower_circular_pad(Builder& b, Call& call) { give_padded(b, call, PadMode::kCircular); }

constexpr LoweringRule kCopyRules[] = {
    {"aten.cat", lower_cat},
    {"aten.stack", lower_stack},
    {"aten.copy_", lower_copy},
    {"aten.flip", lower_flip},
    {"aten.roll", lower_roll},
    {"aten.rot90", lower_rot90},
    {"aten.repeat", lower_repeat},
    {"aten.repeat_interleave.self_int", lower_repeat},
    {"aten.channel_shuffle", lower_shuffle},
    {"aten.pixel_shuffle", lower_shuffle},
    {"aten.pixel_unshuffle", lower_shuffle},
    {"aten.constant_pad_nd", lower_constant_pad},
    {"aten.reflection_pad1d", lower_reflection_pad},
    {"aten.reflection_pad2d", lower_reflection_pad},
    {"aten.reflection_pad3d", lower_reflection_pad},
    {"aten.replication_pad1d", lower_replication_pad},
    {"aten.replication_pad2d", lower_replication_pad},
    {"aten.replication_pad3d", lower_replication_pad},
    {"aten._pad_circular", lower_circular_pad},
};

}  // namespace

std::span<const LoweringRule> copy_rules() { return kCopyRules; }

}  // namespace kw::teacher
