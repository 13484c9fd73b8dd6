// Views, copies and factories: index maps, no arithmetic.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

namespace {

const char* const kIdentities[] = {"aten.clone.default", "aten.contiguous.default",
                                   "aten.alias.default", "aten.detach.default",
                                   "aten.lift_fresh.default"};
const char* const kReshapes[] = {"aten.view.default",    "aten._unsafe_view.default",
                                 "aten.reshape.default", "aten.flatten.using_ints",
                                 "aten.unflatten.int",   "aten.view_as.default",
                                 "aten.squeeze.dim",     "aten.squeeze.dims",
                                 "aten.squeeze.default", "aten.unsqueeze.default"};

template <size_t N>
bool among(const std::string& op, const char* const (&names)[N]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

}  // namespace

bool Lowering::view() {
  const std::string& op = call_->op;
  if (among(op, kIdentities)) {
    set_result(0, operand("self"));
  } else if (op == "aten._to_copy.default" || op == "aten.to.dtype") {
    set_result(0, cast("cast", operand("self"), result_value().dtype));
  } else if (among(op, kReshapes)) {
    // The result's shape is recorded, so all of these are one operation.
    set_result(0, reshaped(operand("self"), result_value().shape));
  } else if (op == "aten.as_strided.default" && only_restrides()) {
    set_result(0, operand("self"));
  } else if (op == "aten.expand.default" || op == "aten.expand_as.default") {
    set_result(0, expanded(operand("self"), result_value().shape));
  } else if (op == "aten.permute.default") {
    const Tensor t = operand("self");
    std::vector<int> order;
    for (int64_t d : integers("dims")) order.push_back(wrap(d, t.rank()));
    set_result(0, permuted(t, order));
  } else if (op == "aten.transpose.int" || op == "aten.t.default") {
    const Tensor t = operand("self");
    std::vector<int> order(t.rank());
    std::iota(order.begin(), order.end(), 0);
    if (t.rank() > 1) {
      const bool named = op == "aten.transpose.int";
      const int a = named ? wrap(integer("dim0", 0), t.rank()) : 0;
      const int b = named ? wrap(integer("dim1", 0), t.rank()) : 1;
      std::swap(order[a], order[b]);
    }
    set_result(0, permuted(t, order));
  } else {
    return split_views(op);
  }
  return true;
}

// Whether an as_strided looks at its argument as the argument looks at itself, but for strides of
// dimensions of size 1.
bool Lowering::only_restrides() const {
  const Arg* self = arg("self");
  if (!self || !self->is_value()) return false;
  const Value &from = program_.values[self->value()], &to = result_value();
  bool same = from.shape == to.shape && from.offset == to.offset;
  for (size_t d = 0; same && d < to.shape.size(); ++d) {
    same = to.shape[d] == 1 || from.strides[d] == to.strides[d];
  }
  return same;
}

// Views that take a part of a tensor.
bool Lowering::split_views(const std::string& op) {
  if (op == "aten.select.int" || op == "aten.unbind.int") {
    const Tensor t = operand("self");
    const int dim = wrap(integer("dim", 0), t.rank());
    const int64_t size = extent(t, dim);
    const bool all = op == "aten.unbind.int";
    for (size_t i = 0; i < call_->results.size(); ++i) {
      int64_t index = all ? static_cast<int64_t>(i) : integer("index", 0);
      if (index < 0) index += size;
      Tensor part = sliced(t, dim, index, 1, 1);
      part.dims.erase(part.dims.begin() + dim);
      set_result(i, std::move(part));
    }
    return true;
  }
  if (op == "aten.slice.Tensor" || op == "aten.narrow.default") {
    const Tensor t = operand("self");
    const int dim = wrap(integer("dim", 0), t.rank());
    const int64_t size = extent(t, dim);
    int64_t start = integer("start", 0);
    if (start < 0) start += size;
    start = std::clamp<int64_t>(start, 0, size);
    const std::vector<int64_t>& shape = result_value().shape;
    set_result(0, sliced(t, dim, start, integer("step", 1), shape.at(dim)));
    return true;
  }
  if (op == "aten.split.Tensor" || op == "aten.split_with_sizes.default" ||
      op == "aten.chunk.default") {
    const Tensor t = operand("self");
    const int dim = wrap(integer("dim", 0), t.rank());
    int64_t start = 0;
    for (size_t i = 0; i < call_->results.size(); ++i) {
      const int64_t length = result_value(i).shape.at(dim);
      set_result(i, sliced(t, dim, start, 1, length));
      start += length;
    }
    return true;
  }
  return false;
}

Tensor Lowering::permuted(const Tensor& t, const std::vector<int>& order) const {
  if (static_cast<int>(order.size()) != t.rank()) throw Refusal{"a permutation of other rank"};
  Tensor out = t;
  for (int d = 0; d < t.rank(); ++d) out.dims[d] = t.dims[order[d]];
  return out;
}

// A piece as leaves, each with its own stride.
std::vector<Piece> Lowering::leaf_pieces(const Piece& piece) const {
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

Tensor Lowering::reshaped(Tensor t, const std::vector<int64_t>& shape) {
  // All pieces in row-major order, as leaves with their strides; a size in `shape` takes as many as
  // make it up, splitting the last where it must.
  std::vector<Piece> rest;
  for (const auto& dim : t.dims) {
    for (const Piece& piece : dim) {
      const std::vector<Piece> parts = leaf_pieces(piece);
      rest.insert(rest.end(), parts.begin(), parts.end());
    }
  }
  std::vector<std::vector<Piece>> dims;
  size_t next = 0;
  for (int64_t size : shape) {
    std::vector<Piece> dim;
    int64_t open = size;
    while (open > 1) {
      if (next == rest.size()) throw Refusal{"a view of another size"};
      const int64_t have = graph_.axes.size(rest[next].axis);
      if (have > open) {
        if (have % open != 0) throw Refusal{"a view that does not split dimensions evenly"};
        const Piece whole = rest[next];
        graph_.axes.split(whole.axis, open);
        const std::vector<Piece> parts = leaf_pieces(whole);
        rest.erase(rest.begin() + next);
        rest.insert(rest.begin() + next, parts.begin(), parts.end());
        continue;
      }
      if (open % have != 0) throw Refusal{"a view that does not split dimensions evenly"};
      dim.push_back(rest[next++]);
      open /= have;
    }
    dims.push_back(std::move(dim));
  }
  if (next != rest.size()) throw Refusal{"a view of another size"};
  t.dims = std::move(dims);
  return t;
}

Tensor Lowering::sliced(const Tensor& t, int dim, int64_t start, int64_t step, int64_t length) {
  const int64_t size = extent(t, dim);
  if (length < 1 || start < 0 || step < 1 || start + (length - 1) * step >= size) {
    throw Refusal{"a slice out of range"};
  }
  if (length == size) return t;
  Tensor out = t;
  if (t.node >= 0 || t.dims[dim].size() != 1) {  // the same computation on a part of what it loads
    out = use(t);
    const AxisId axis = loop_of(length);
    Positions at;
    place(out, dim, ranged({{axis, step}}, start, size), at);
    std::vector<std::vector<Piece>> dims = out.dims;
    dims[dim] = pieces_of(axis);
    return taken(std::move(out), at, std::move(dims));
  }
  const Piece whole = t.dims[dim][0];
  Stride stride = whole.stride;
  if (start != 0 && stride.factor != 0) out.offset.push_back({start, stride});
  stride.factor *= step;
  out.dims[dim].clear();
  if (length > 1) out.dims[dim].push_back({graph_.axes.fresh(length), stride});
  return out;
}

Tensor Lowering::expanded(Tensor t, const std::vector<int64_t>& shape) {
  const int rank = static_cast<int>(shape.size());
  if (rank < t.rank()) throw Refusal{"an expansion to a lower rank"};
  t.dims.insert(t.dims.begin(), rank - t.rank(), {});
  for (int d = 0; d < rank; ++d) {
    if (!t.dims[d].empty() || shape[d] == 1) continue;
    Stride none;
    none.factor = 0;
    t.dims[d].push_back({graph_.axes.fresh(shape[d]), none});
  }
  return t;
}

Tensor Lowering::aligned(Tensor vector, int rank, int dim) const {
  if (vector.rank() != 1) throw Refusal{"a parameter that is not a vector"};
  std::vector<std::vector<Piece>> dims(rank);
  dims[dim] = std::move(vector.dims[0]);
  vector.dims = std::move(dims);
  return vector;
}

// Constants and ranges: values without memory.
bool Lowering::factory() {
  const std::string& op = call_->op;
  auto filled = [&](double value) {
    const Value& result = result_value();
    Tensor t = constant(literal(value, register_type(result.dtype)), result.dtype);
    set_result(0, expanded(std::move(t), result.shape));
    return true;
  };
  if (op == "aten.zeros.default" || op == "aten.zeros_like.default" ||
      op == "aten.new_zeros.default" || op == "aten.zero_.default") {
    return filled(0);
  }
  if (op == "aten.ones.default" || op == "aten.ones_like.default" ||
      op == "aten.new_ones.default") {
    return filled(1);
  }
  if (op == "aten.full.default" || op == "aten.full_like.default" ||
      op == "aten.new_full.default") {
    return filled(number("fill_value", 0));
  }
  if (op == "aten.fill_.Scalar") return filled(number("value", 0));
  if (op == "aten.scalar_tensor.default") return filled(number("s", 0));
  if (op == "kernelwright.constant.default") {
    const Arg* data = arg("data");
    const ArgList* list = data ? std::get_if<ArgList>(&data->v) : nullptr;
    if (!list || list->size() != 1) throw Refusal{"a constant tensor of several elements"};
    const Value& result = result_value();
    Tensor t = constant(literal((*list)[0], register_type(result.dtype)), result.dtype);
    t.dims.resize(result.shape.size());
    set_result(0, std::move(t));
    return true;
  }
  // Of memory that nobody wrote nobody may know what it holds.
  if (op == "aten.empty.memory_format" || op == "aten.empty_like.default" ||
      op == "aten.new_empty.default") {
    return filled(0);
  }
  if (op == "aten.arange.default" || op == "aten.arange.start" || op == "aten.arange.start_step") {
    const Value& result = result_value();
    const double start = number("start", 0), step = number("step", 1);
    if (!is_integral(result.dtype) || start != std::trunc(start) || step != std::trunc(step)) {
      throw Refusal{"a range that is not of integers"};
    }
    Tensor line = expanded(constant("0", DType::kInt32), result.shape);
    Tensor index = index_along(line, {0});
    const std::string type(triton_name(result.dtype));
    const std::string from = start == 0 ? "" : " + " + literal(start, result.dtype);
    const std::string by = step == 1 ? "" : " * " + literal(step, result.dtype);
    set_result(0, pointwise("arange", "{0}.to(" + type + ")" + by + from, {index}, {DType::kInt32},
                            result.dtype));
    return true;
  }
  return false;
}

}  // namespace kw::teacher
