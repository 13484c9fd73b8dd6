#include "teacher/nodes/views.h"

#include "teacher/nodes/positions.h"

namespace kw::teacher {

Tensor permuted(const Tensor& t, const std::vector<int>& order) {
  if (static_cast<int>(order.size()) != t.rank()) throw Refusal{"a permutation of other rank"};
  Tensor out = t;
  for (int d = 0; d < t.rank(); ++d) out.dims[d] = t.dims[order[d]];
  return out;
}

Tensor reshaped(Builder& b, Tensor t, const std::vector<int64_t>& shape) {
  // All pieces in row-major order, as leaves with their strides; a size in `shape` takes as many as
  // make it up, splitting the last where it must.
  std::vector<Piece> rest;
  for (const auto& dim : t.dims) {
    for (const Piece& piece : dim) {
      const std::vector<Piece> parts = b.leaf_pieces(piece);
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
      const int64_t have = b.axes().size(rest[next].axis);
      if (have > open) {
        if (have % open != 0) throw Refusal{"a view that does not split dimensions evenly"};
        const Piece whole = rest[next];
        b.axes().split(whole.axis, open);
        const std::vector<Piece> parts = b.leaf_pieces(whole);
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

Tensor sliced(Builder& b, const Tensor& t, int dim, int64_t start, int64_t step, int64_t length) {
  const int64_t size = b.extent(t, dim);
  if (length < 1 || start < 0 || step < 1 || start + (length - 1) * step >= size) {
    throw Refusal{"a slice out of range"};
  }
  if (length == size) return t;
  Tensor out = t;
  if (t.node >= 0 || t.dims[dim].size() != 1) {  // the same computation on a part of what it loads
    out = b.use(t);
    const AxisId axis = b.loop_of(length);
    Positions at;
    place(b, out, dim, ranged(b, {{axis, step}}, start, size), at);
    std::vector<std::vector<Piece>> dims = out.dims;
    dims[dim] = pieces_of(axis);
    return taken(b, std::move(out), at, std::move(dims));
  }
  const Piece whole = t.dims[dim][0];
  Stride stride = whole.stride;
  if (start != 0 && stride.factor != 0) out.offset.push_back({start, stride});
  stride.factor *= step;
  out.dims[dim].clear();
  if (length > 1) out.dims[dim].push_back({b.axes().fresh(length), stride});
  return out;
}

Tensor expanded(Builder& b, Tensor t, const std::vector<int64_t>& shape) {
  const int rank = static_cast<int>(shape.size());
  if (rank < t.rank()) throw Refusal{"an expansion to a lower rank"};
  t.dims.insert(t.dims.begin(), rank - t.rank(), {});
  for (int d = 0; d < rank; ++d) {
    if (!t.dims[d].empty() || shape[d] == 1) continue;
    Stride none;
    none.factor = 0;
    t.dims[d].push_back({b.axes().fresh(shape[d]), none});
  }
  return t;
}

Tensor aligned(Tensor vector, int rank, int dim) {
  if (vector.rank() != 1) throw Refusal{"a parameter that is not a vector"};
  std::vector<std::vector<Piece>> dims(rank);
  dims[dim] = std::move(vector.dims[0]);
  vector.dims = std::move(dims);
  return vector;
}

std::vector<Piece> joined(Builder& b, const Call& call, const std::vector<Tensor>& tensors,
                          const std::vector<int>& dims) {
  Axes axes;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (dims[i] < 0) continue;
    const Axes own = b.axes().leaves(tensors[i].axes(dims[i]));
    if (own.empty()) continue;
    if (axes.empty()) {
      axes = own;
    } else if (!b.axes().unify(axes, own)) {
      throw Refusal{call.op() + ": dimensions cannot be walked together"};
    }
  }
  std::vector<Piece> out;
  for (AxisId leaf : b.axes().leaves(axes)) out.push_back({leaf, {}});
  return out;
}

}  // namespace kw::teacher
