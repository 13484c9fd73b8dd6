// Lookups by tensors of indices, and views that read or write along diagonals, windows and parts.
#include <algorithm>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

bool Lowering::lookups() {
  const std::string base = call_->op.substr(0, call_->op.rfind('.'));
  if (base == "aten.embedding") {
    looked_up(operand("weight"), 0);
  } else if (base == "aten.index_select") {
    const Tensor t = operand("self");
    looked_up(t, wrap(integer("dim", 0), t.rank()));
  } else if (call_->op == "aten.index.Tensor") {
    indexed();
  } else if (base == "aten.gather" || base == "aten.take") {
    gather_along();
  } else if (base == "aten.unfold") {
    unfolded();
  } else if (base == "aten.diagonal" || base == "aten.diagonal_copy") {
    diagonal();
  } else if (base == "aten.slice_scatter" || base == "aten.select_scatter") {
    scattered_view();
  } else if (base == "aten.diag_embed") {
    embedded_diagonal();
  } else {
    return false;
  }
  return true;
}

// A tensor of indices into a dimension of `size`; with `wraps` negative ones count from its end.
Tensor Lowering::index_operand(const Arg& a, int64_t size, bool wraps) {
  Tensor t = use(tensor(a));
  if (!is_integral(t.dtype)) throw Refusal{call_->op + ": an index that is not of integers"};
  if (wraps) {
    t.node = integer_node("index", "tl.where({0} < 0, {0} + " + std::to_string(size) + ", {0})",
                          {t.node});
  }
  return t;
}

// embedding, index_select: whole slices by a tensor of indices.
void Lowering::looked_up(Tensor t, int dim) {
  if (t.rank() == 0) return set_result(0, t);
  const bool table = call_->op == "aten.embedding.default";
  const Tensor index = index_operand(*arg(table ? "indices" : "index"), extent(t, dim), false);
  t = use(std::move(t));
  Position position;
  position.node = index.node;
  Positions at;
  place(t, dim, position, at);
  std::vector<std::vector<Piece>> dims = t.dims;
  dims.erase(dims.begin() + dim);
  std::vector<std::vector<Piece>> own = index.dims;
  if (!table && own.empty()) own.emplace_back();  // a single index is a list of one
  dims.insert(dims.begin() + dim, own.begin(), own.end());
  set_result(0, taken(std::move(t), at, std::move(dims)));
}

// self[i, :, j]: the indexed dimensions are replaced by those of the indices, broadcast together.
void Lowering::indexed() {
  const Tensor t = use(operand("self"));
  const Arg* list = arg("indices");
  const ArgList* items = list ? std::get_if<ArgList>(&list->v) : nullptr;
  if (!items || static_cast<int>(items->size()) > t.rank()) throw Refusal{"an index of other rank"};
  std::vector<Tensor> indices;
  std::vector<int> at_dims;
  size_t rank = 0;
  Positions at;
  for (size_t d = 0; d < items->size(); ++d) {
    if ((*items)[d].is_none()) continue;
    const int dim = static_cast<int>(d);
    indices.push_back(index_operand((*items)[d], extent(t, dim), true));
    at_dims.push_back(dim);
    rank = std::max(rank, indices.back().dims.size());
    Position position;
    position.node = indices.back().node;
    place(t, dim, position, at);
  }
  if (indices.empty()) return set_result(0, t);
  std::vector<std::vector<Piece>> inside;
  for (size_t d = 0; d < rank; ++d) {
    std::vector<int> own;
    for (const Tensor& index : indices) {
      own.push_back(static_cast<int>(d) - static_cast<int>(rank - index.dims.size()));
    }
    inside.push_back(joined(indices, own));
  }
  std::vector<std::vector<Piece>> dims;
  const bool adjacent = at_dims.back() - at_dims.front() + 1 == static_cast<int>(at_dims.size());
  if (!adjacent) dims = inside;
  for (int d = 0; d < t.rank(); ++d) {
    if (adjacent && d == at_dims.front()) dims.insert(dims.end(), inside.begin(), inside.end());
    if (std::find(at_dims.begin(), at_dims.end(), d) == at_dims.end()) dims.push_back(t.dims[d]);
  }
  set_result(0, taken(t, at, std::move(dims)));
}

// gather and take: an index for every element.
void Lowering::gather_along() {
  Tensor t = operand("self");
  const bool flat = call_->op == "aten.take.default";
  if (flat) t = reshaped(t, {numel(t)});
  const int dim = flat ? 0 : wrap(integer("dim", 0), t.rank());
  const Tensor index = index_operand(*arg("index"), t.rank() == 0 ? 1 : extent(t, dim), flat);
  if (t.rank() == 0) return set_result(0, expanded(t, result_value().shape));
  if (!flat && index.rank() != t.rank()) throw Refusal{"an index of other rank"};
  std::vector<std::vector<Piece>> dims = index.dims;
  for (int d = 0; d < t.rank() && !flat; ++d) {
    if (d != dim) t = sliced(t, d, 0, 1, extent(index, d));
  }
  t = use(std::move(t));
  for (int d = 0; d < t.rank() && !flat; ++d) {
    if (d != dim) dims[d] = joined({t, index}, {d, d});
  }
  Position position;
  position.node = index.node;
  Positions at;
  place(t, dim, position, at);
  set_result(0, taken(std::move(t), at, std::move(dims)));
}

// Tensor.unfold: windows along one dimension, side by side.
void Lowering::unfolded() {
  const Tensor t = use(operand("self"));
  const int dim = wrap(integer("dimension", 0), t.rank());
  const int64_t size = integer("size", 1), step = integer("step", 1);
  if (t.rank() == 0) throw Refusal{"windows of a scalar"};
  const AxisId outer = loop_of(result_value().shape.at(dim)), inner = loop_of(size);
  Positions at;
  place(t, dim, ranged({{outer, step}, {inner, 1}}, 0, extent(t, dim)), at);
  std::vector<std::vector<Piece>> dims = t.dims;
  dims[dim] = pieces_of(outer);
  dims.push_back(pieces_of(inner));
  set_result(0, taken(t, at, std::move(dims)));
}

void Lowering::diagonal() {
  const Tensor t = use(operand("self"));
  const int row = wrap(integer("dim1", 0), t.rank()), column = wrap(integer("dim2", 1), t.rank());
  const int64_t offset = integer("offset", 0);
  const AxisId axis = loop_of(result_value().shape.back());
  Positions at;
  place(t, row, ranged({{axis, 1}}, std::max<int64_t>(-offset, 0), extent(t, row)), at);
  // A load walks a loop with one stride: the second way along it is an index.
  Position second = ranged({{axis, 1}}, std::max<int64_t>(offset, 0), extent(t, column));
  if (axis >= 0) second.node = position_index(second);
  place(t, column, second, at);
  std::vector<std::vector<Piece>> dims;
  for (int d = 0; d < t.rank(); ++d) {
    if (d != row && d != column) dims.push_back(t.dims[d]);
  }
  dims.push_back(pieces_of(axis));
  set_result(0, taken(t, at, std::move(dims)));
}

// slice_scatter, select_scatter: a tensor with a part of it replaced.
void Lowering::scattered_view() {
  const Value& result = result_value();
  Tensor t = use(cast("cast", operand("self"), result.dtype));
  Tensor source = use(cast("cast", operand("src"), result.dtype));
  const int dim = wrap(integer("dim", 0), t.rank());
  const int64_t size = result.shape.at(dim);
  const bool select = call_->op == "aten.select_scatter.default";
  if (select) source.dims.insert(source.dims.begin() + dim, std::vector<Piece>());
  if (source.rank() != t.rank()) throw Refusal{"a part of another rank"};
  int64_t start = integer(select ? "index" : "start", 0);
  if (start < 0) start += size;
  start = std::clamp<int64_t>(start, 0, size - 1);
  const int64_t step = select ? 1 : integer("step", 1), count = extent(source, dim);
  if (step < 1) throw Refusal{"a part of no step"};
  std::vector<std::vector<Piece>> dims = t.dims;
  for (int d = 0; d < t.rank(); ++d) {
    if (d != dim) dims[d] = joined({t, source}, {d, d});
  }
  if (size == 1) {
    source.dims = std::move(dims);
    return set_result(0, source);
  }
  const Tensor along = index_along(t, {dim});
  const std::string from = start == 0 ? "{0}" : "({0} - " + std::to_string(start) + ")";
  std::string inside = "({0} >= " + std::to_string(start) + ") & ({0} < " +
                       std::to_string(start + (count - 1) * step + 1) + ")";
  if (step > 1) inside += " & (" + from + " % " + std::to_string(step) + " == 0)";
  Position position;
  position.guard = condition_node(inside, {along.node});
  position.node =
      integer_node("index", step == 1 ? from : from + " // " + std::to_string(step), {along.node});
  std::map<int, int> done;
  if (count == 1) {
    source.node = guarded(source.node, position.guard, done);
  } else {
    Positions at;
    place(source, dim, position, at);
    source.node = substituted(source.node, at, done);
  }
  const DType type = register_type(result.dtype);
  t.node = expression_node("replaced", "tl.where({0}, {1}, {2})",
                           {position.guard, source.node, t.node}, {DType::kBool, type, type}, type);
  t.dims = std::move(dims);
  layouts_.push_back(t.axes());
  set_result(0, std::move(t));
}

// diag_embed: the last dimension along a diagonal of two, zero elsewhere.
void Lowering::embedded_diagonal() {
  const Tensor t = use(operand("self"));
  const std::vector<int64_t>& shape = result_value().shape;
  const int rank = static_cast<int>(shape.size());
  const int row = wrap(integer("dim1", -2), rank), column = wrap(integer("dim2", -1), rank);
  const int64_t offset = integer("offset", 0);
  if (t.rank() == 0 || rank != t.rank() + 1) throw Refusal{"a diagonal of another rank"};
  const AxisId down = loop_of(shape[row]), across = loop_of(shape[column]);
  std::vector<std::vector<Piece>> dims;
  for (int d = 0, next = 0; d < rank; ++d) {
    dims.push_back(d == row ? pieces_of(down) : d == column ? pieces_of(across) : t.dims[next++]);
  }
  if (down < 0) {
    Tensor out = t;
    out.dims = std::move(dims);
    return set_result(0, out);
  }
  const int i = index_of(down), j = index_of(across);
  const std::string shift = offset == 0 ? ""
                                        : " + " + std::string(offset < 0 ? "(" : "") +
                                              std::to_string(offset) + (offset < 0 ? ")" : "");
  Position position;
  position.guard = condition_node("{1} == {0}" + shift, {i, j});
  position.node = offset >= 0 ? i : j;
  Positions at;
  place(t, t.rank() - 1, position, at);
  Tensor out = taken(t, at, std::move(dims));
  if (extent(t, t.rank() - 1) == 1) {
    std::map<int, int> done;
    out.node = guarded(out.node, position.guard, done);
  }
  // At the edges the diagonal's position may lie outside, but there the condition is false.
  set_result(0, selected({position.guard}, std::move(out), literal(0.0, register_type(t.dtype))));
}

}  // namespace kw::teacher
