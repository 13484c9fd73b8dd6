// Lookups by tensors of indices, and views that read or write diagonals, windows and parts.
#include <algorithm>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Returns a tensor of indices into a dimension of `size`. With `wraps`, negative indices count from
// its end.
Tensor index_operand(Builder& b, Call& call, const Arg& a, int64_t size, bool wraps) {
  Tensor t = b.use(call.tensor(a));
  if (!is_integral(t.dtype)) throw Refusal{call.op() + ": an index that is not of integers"};
  if (wraps) {
    t.node = integer_node(b, "index", "tl.where({0} < 0, {0} + " + std::to_string(size) + ", {0})",
                          {t.node});
  }
  return t;
}

// Gives whole slices by a tensor of indices (embedding, index_select).
void looked_up(Builder& b, Call& call, Tensor t, int dim) {
  if (t.rank() == 0) return call.set_result(0, t);
  const bool table = call.op() == "aten.embedding.default";
  const Tensor index =
      index_operand(b, call, *call.arg(table ? "indices" : "index"), b.extent(t, dim), false);
  t = b.use(std::move(t));
  Position position;
  position.node = index.node;
  Positions at;
  place(b, t, dim, position, at);
  std::vector<std::vector<Piece>> dims = t.dims;
  dims.erase(dims.begin() + dim);
  std::vector<std::vector<Piece>> own = index.dims;
  if (!table && own.empty()) own.emplace_back();  // a single index is a list of one
  dims.insert(dims.begin() + dim, own.begin(), own.end());
  call.set_result(0, taken(b, std::move(t), at, std::move(dims)));
}

// self[i, :, j]: the indexed dimensions are replaced by those of the indices, broadcast together.
void lower_index(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("self"));
  const Arg* list = call.arg("indices");
  const ArgList* items = list ? std::get_if<ArgList>(&list->v) : nullptr;
  if (!items || static_cast<int>(items->size()) > t.rank()) throw Refusal{"an index of other rank"};
  std::vector<Tensor> indices;
  std::vector<int> at_dims;
  size_t rank = 0;
  Positions at;
  for (size_t d = 0; d < items->size(); ++d) {
    if ((*items)[d].is_none()) continue;
    const int dim = static_cast<int>(d);
    indices.push_back(index_operand(b, call, (*items)[d], b.extent(t, dim), true));
    at_dims.push_back(dim);
    rank = std::max(rank, indices.back().dims.size());
    Position position;
    position.node = indices.back().node;
    place(b, t, dim, position, at);
  }
  if (indices.empty()) return call.set_result(0, t);
  std::vector<std::vector<Piece>> inside;
  for (size_t d = 0; d < rank; ++d) {
    std::vector<int> own;
    for (const Tensor& index : indices) {
      own.push_back(static_cast<int>(d) - static_cast<int>(rank - index.dims.size()));
    }
    inside.push_back(joined(b, call, indices, own));
  }
  std::vector<std::vector<Piece>> dims;
  const bool adjacent = at_dims.back() - at_dims.front() + 1 == static_cast<int>(at_dims.size());
  if (!adjacent) dims = inside;
  for (int d = 0; d < t.rank(); ++d) {
    if (adjacent && d == at_dims.front()) dims.insert(dims.end(), inside.begin(), inside.end());
    if (std::find(at_dims.begin(), at_dims.end(), d) == at_dims.end()) dims.push_back(t.dims[d]);
  }
  call.set_result(0, taken(b, t, at, std::move(dims)));
}

// gather and take have an index for every element.
void lower_gather(Builder& b, Call& call) {
  Tensor t = call.operand("self");
  const bool flat = call.op() == "aten.take.default";
  if (flat) t = reshaped(b, t, {b.numel(t)});
  const int dim = flat ? 0 : call.wrap(call.integer("dim", 0), t.rank());
  const Tensor index =
      index_operand(b, call, *call.arg("index"), t.rank() == 0 ? 1 : b.extent(t, dim), flat);
  if (t.rank() == 0) return call.set_result(0, expanded(b, t, call.result_value().shape));
  if (!flat && index.rank() != t.rank()) throw Refusal{"an index of other rank"};
  std::vector<std::vector<Piece>> dims = index.dims;
  for (int d = 0; d < t.rank() && !flat; ++d) {
    if (d != dim) t = sliced(b, t, d, 0, 1, b.extent(index, d));
  }
  t = b.use(std::move(t));
  for (int d = 0; d < t.rank() && !flat; ++d) {
    if (d != dim) dims[d] = joined(b, call, {t, index}, {d, d});
  }
  Position position;
  position.node = index.node;
  Positions at;
  place(b, t, dim, position, at);
  call.set_result(0, taken(b, std::move(t), at, std::move(dims)));
}

// Tensor.unfold gives windows along one dimension, side by side.
void lower_unfold(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("self"));
  const int dim = call.wrap(call.integer("dimension", 0), t.rank());
  const int64_t size = call.integer("size", 1), step = call.integer("step", 1);
  if (t.rank() == 0) throw Refusal{"windows of a scalar"};
  const AxisId outer = b.loop_of(call.result_value().shape.at(dim)), inner = b.loop_of(size);
  Positions at;
  place(b, t, dim, ranged(b, {{outer, step}, {inner, 1}}, 0, b.extent(t, dim)), at);
  std::vector<std::vector<Piece>> dims = t.dims;
  dims[dim] = pieces_of(outer);
  dims.push_back(pieces_of(inner));
  call.set_result(0, taken(b, t, at, std::move(dims)));
}

void lower_diagonal(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("self"));
  const int row = call.wrap(call.integer("dim1", 0), t.rank()),
            column = call.wrap(call.integer("dim2", 1), t.rank());
  const int64_t offset = call.integer("offset", 0);
  const AxisId axis = b.loop_of(call.result_value().shape.back());
  Positions at;
  place(b, t, row, ranged(b, {{axis, 1}}, std::max<int64_t>(-offset, 0), b.extent(t, row)), at);
  // A load walks a loop with one stride: the second way along it is an index.
  Position second = ranged(b, {{axis, 1}}, std::max<int64_t>(offset, 0), b.extent(t, column));
  if (axis >= 0) second.node = position_index(b, second);
  place(b, t, column, second, at);
  std::vector<std::vector<Piece>> dims;
  for (int d = 0; d < t.rank(); ++d) {
    if (d != row && d != column) dims.push_back(t.dims[d]);
  }
  dims.push_back(pieces_of(axis));
  call.set_result(0, taken(b, t, at, std::move(dims)));
}

// slice_scatter and select_scatter give a tensor with a part of it replaced.
void lower_scattered_view(Builder& b, Call& call) {
  const Value& result = call.result_value();
  Tensor t = b.use(b.cast("cast", call.operand("self"), result.dtype));
  Tensor source = b.use(b.cast("cast", call.operand("src"), result.dtype));
  const int dim = call.wrap(call.integer("dim", 0), t.rank());
  const int64_t size = result.shape.at(dim);
  const bool select = call.op() == "aten.select_scatter.default";
  if (select) source.dims.insert(source.dims.begin() + dim, std::vector<Piece>());
  if (source.rank() != t.rank()) throw Refusal{"a part of another rank"};
  int64_t start = call.integer(select ? "index" : "start", 0);
  if (start < 0) start += size;
  start = std::clamp<int64_t>(start, 0, size - 1);
  const int64_t step = select ? 1 : call.integer("step", 1), count = b.extent(source, dim);
  if (step < 1) throw Refusal{"a part of no step"};
  std::vector<std::vector<Piece>> dims = t.dims;
  for (int d = 0; d < t.rank(); ++d) {
    if (d != dim) dims[d] = joined(b, call, {t, source}, {d, d});
  }
  if (size == 1) {
    source.dims = std::move(dims);
    return call.set_result(0, source);
  }
  const Tensor along = b.index_along(t, {dim});
  const std::string from = start == 0 ? "{0}" : "({0} - " + std::to_string(start) + ")";
  std::string inside = "({0} >= " + std::to_string(start) + ") & ({0} < " +
                       std::to_string(start + (count - 1) * step + 1) + ")";
  if (step > 1) inside += " & (" + from + " % " + std::to_string(step) + " == 0)";
  Position position;
  position.guard = condition_node(b, inside, {along.node});
  position.node = integer_node(b, "index", step == 1 ? from : from + " // " + std::to_string(step),
                               {along.node});
  if (count == 1) {
    source.node = guarded(b, source.node, position.guard);
  } else {
    Positions at;
    place(b, source, dim, position, at);
    source.node = substituted(b, source.node, at);
  }
  const DType type = register_type(result.dtype);
  t.node = expression_node(b, "replaced", "tl.where({0}, {1}, {2})",
                           {position.guard, source.node, t.node}, {DType::kBool, type, type}, type);
  t.dims = std::move(dims);
  b.note_layout(t.axes());
  call.set_result(0, std::move(t));
}

// diag_embed puts the last dimension along a diagonal of two; elsewhere is zero.
void lower_diag_embed(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("self"));
  const std::vector<int64_t>& shape = call.result_value().shape;
  const int rank = static_cast<int>(shape.size());
  const int row = call.wrap(call.integer("dim1", -2), rank),
            column = call.wrap(call.integer("dim2", -1), rank);
  const int64_t offset = call.integer("offset", 0);
  if (t.rank() == 0 || rank != t.rank() + 1) throw Refusal{"a diagonal of another rank"};
  const AxisId down = b.loop_of(shape[row]), across = b.loop_of(shape[column]);
  std::vector<std::vector<Piece>> dims;
  for (int d = 0, next = 0; d < rank; ++d) {
    dims.push_back(d == row ? pieces_of(down) : d == column ? pieces_of(across) : t.dims[next++]);
  }
  if (down < 0) {
    Tensor out = t;
    out.dims = std::move(dims);
    return call.set_result(0, out);
  }
  const int i = index_of(b, down), j = index_of(b, across);
  const std::string shift = offset == 0 ? ""
                                        : " + " + std::string(offset < 0 ? "(" : "") +
                                              std::to_string(offset) + (offset < 0 ? ")" : "");
  Position position;
  position.guard = condition_node(b, "{1} == {0}" + shift, {i, j});
  position.node = offset >= 0 ? i : j;
  Positions at;
  place(b, t, t.rank() - 1, position, at);
  Tensor out = taken(b, t, at, std::move(dims));
  if (b.extent(t, t.rank() - 1) == 1) {
    out.node = guarded(b, out.node, position.guard);
  }
  // At the edges the diagonal's position may lie outside, but there the condition is false.
  call.set_result(
      0, selected(b, {position.guard}, std::move(out), literal(0.0, register_type(t.dtype))));
}

void lower_embedding(Builder& b, Call& call) { looked_up(b, call, call.operand("weight"), 0); }

void lower_index_select(Builder& b, Call& call) {
  const Tensor t = call.operand("self");
  looked_up(b, call, t, call.wrap(call.integer("dim", 0), t.rank()));
}

constexpr LoweringRule kLookupRules[] = {
    {"aten.embedding", lower_embedding},
    {"aten.index_select", lower_index_select},
    {"aten.index.Tensor", lower_index},
    {"aten.gather", lower_gather},
    {"aten.take", lower_gather},
    {"aten.unfold", lower_unfold},
    {"aten.diagonal", lower_diagonal},
    {"aten.diagonal_copy", lower_diagonal},
    {"aten.select_scatter", lower_scattered_view},
    {"aten.slice_scatter", lower_scattered_view},
    {"aten.diag_embed", lower_diag_embed},
};

}  // namespace

std::span<const LoweringRule> lookup_rules() { return kLookupRules; }

}  // namespace kw::teacher
