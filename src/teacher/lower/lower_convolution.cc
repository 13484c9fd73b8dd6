// Convolutions and transposed convolutions of any rank, as one node that joins an input and a
// weight through windows. Input and weight are copied over axes of their own first: the input's
// positions are not those of the result, even where the same tensor is added to it.
#include <algorithm>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

namespace {

// One number stands for all dimensions.
std::vector<int64_t> spread(std::vector<int64_t> given, int rank, int64_t otherwise) {
  if (given.empty()) given.assign(rank, otherwise);
  if (given.size() == 1) given.assign(rank, given[0]);
  if (static_cast<int>(given.size()) != rank) throw Refusal{"a convolution of other rank"};
  return given;
}

}  // namespace

// The subgraph of `id` again with other names for some leaves. Renaming all uses of a leaf at once,
// bound ones too, changes no value.
int Lowering::renamed_node(int id, const std::map<AxisId, AxisId>& names,
                           std::map<int, int>& done) {
  if (auto it = done.find(id); it != done.end()) return it->second;
  Node node = graph_.nodes[id];
  bool changed = false;
  for (int& operand : node.operands) {
    const int copy = renamed_node(operand, names, done);
    changed |= copy != operand;
    operand = copy;
  }
  auto rename = [&](AxisId& leaf) {
    auto it = names.find(leaf);
    if (it == names.end()) return;
    leaf = it->second;
    changed = true;
  };
  std::vector<Piece> pieces;
  for (const Piece& whole : node.pieces) {
    for (Piece piece : leaf_pieces(whole)) {
      rename(piece.axis);
      pieces.push_back(piece);
    }
  }
  node.pieces = std::move(pieces);
  auto rename_all = [&](Axes& axes) {
    axes = graph_.axes.leaves(axes);
    for (AxisId& leaf : axes) rename(leaf);
  };
  rename_all(node.axes);
  for (Gathered& gathered : node.gathered) {
    if (auto it = names.find(gathered.along); it != names.end()) gathered.along = it->second;
  }
  for (ConvDim& window : node.conv) {
    rename_all(window.in);
    rename_all(window.out);
    rename_all(window.kernel);
  }
  return done[id] = changed ? add_node(std::move(node)) : id;
}

// The same value with fresh axes in the place of those of `dims`.
Tensor Lowering::renamed(Tensor t, const std::vector<int>& dims) {
  t = use(std::move(t));
  std::map<AxisId, AxisId> names;
  for (int d : dims) {
    for (AxisId leaf : graph_.axes.leaves(t.axes(d))) {
      if (!names.count(leaf)) names[leaf] = graph_.axes.fresh(graph_.axes.size(leaf));
    }
  }
  std::map<int, int> done;
  t.node = renamed_node(t.node, names, done);
  for (auto& dim : t.dims) {
    std::vector<Piece> pieces;
    for (const Piece& whole : dim) {
      for (Piece piece : leaf_pieces(whole)) {
        if (auto it = names.find(piece.axis); it != names.end()) piece.axis = it->second;
        pieces.push_back(piece);
      }
    }
    dim = std::move(pieces);
  }
  name_clones(names);
  layouts_.push_back(t.axes());
  return t;
}

bool Lowering::convolution(const std::string& base) {
  const bool named = base.rfind("aten.conv_transpose", 0) == 0;
  if (!named && base != "aten.convolution" && base != "aten.conv1d" && base != "aten.conv2d" &&
      base != "aten.conv3d") {
    return false;
  }
  const bool transposed = named || flag("transposed", false);
  Tensor x = operand("input"), w = operand("weight");
  const int rank = w.rank() - 2;
  const bool batched = x.rank() == rank + 2;
  if (rank < 1 || x.rank() < rank + 1) throw Refusal{"a convolution of these ranks"};
  if (x.dtype != w.dtype || !is_floating(x.dtype)) throw Refusal{"a convolution of these dtypes"};
  if (!batched) x.dims.insert(x.dims.begin(), 1, {});
  const auto stride = spread(integers("stride"), rank, 1);
  const auto dilation = spread(integers("dilation"), rank, 1);
  const auto output_padding =
      transposed ? spread(integers("output_padding"), rank, 0) : std::vector<int64_t>(rank, 0);
  const Arg* how = arg("padding");
  const auto* word = how ? std::get_if<std::string>(&how->v) : nullptr;
  const auto padding = spread(word ? std::vector<int64_t>{} : integers("padding"), rank, 0);
  std::vector<ConvDim> windows(rank);
  for (int d = 0; d < rank; ++d) {
    ConvDim& window = windows[d];
    window.in_size = extent(x, d + 2);
    window.kernel_size = extent(w, d + 2);
    window.stride = stride[d], window.dilation = dilation[d], window.transposed = transposed;
    const int64_t reach = dilation[d] * (window.kernel_size - 1);
    window.grown = word && *word == "same" ? reach : 2 * padding[d];
    window.padding = window.grown / 2;
    if (stride[d] < 1 || dilation[d] < 1 || window.padding < 0) throw Refusal{"a window's numbers"};
    if (transposed) {
      window.grown = output_padding[d] - window.grown;
      window.out_size = (window.in_size - 1) * stride[d] + window.grown + reach + 1;
    } else {
      window.out_size = (window.in_size + window.grown - reach - 1) / stride[d] + 1;
    }
    if (window.out_size < 1) throw Refusal{"a convolution without a result"};
  }
  Tensor out = convolve(std::move(x), std::move(w), windows, integer("groups", 1));
  if (present("bias")) {
    const DType dtype = out.dtype;
    Tensor bias = aligned(operand("bias"), out.rank(), 1);
    out = pointwise("biased", "{0} + {1}", {std::move(out), std::move(bias)}, dtype);
  }
  if (!batched) out.dims.erase(out.dims.begin());
  set_result(0, std::move(out));
  return true;
}

// x [n, groups * c, ...] with w [groups * o, c, ...], or [groups * c, o, ...] when transposed.
Tensor Lowering::convolve(Tensor x, Tensor w, const std::vector<ConvDim>& windows, int64_t groups) {
  const bool transposed = windows[0].transposed;
  const int rank = static_cast<int>(windows.size());
  std::vector<int> all(w.rank());
  for (int d = 0; d < w.rank(); ++d) all[d] = d;
  w = renamed(std::move(w), all);
  x = renamed(std::move(x), std::vector<int>(all.begin() + 1, all.end()));
  auto grouped = [&](const Tensor& t, int dim) {
    std::vector<int64_t> shape;
    for (int d = 0; d < t.rank(); ++d) shape.push_back(extent(t, d));
    if (groups < 1 || shape[dim] % groups != 0) throw Refusal{"a convolution's groups"};
    shape[dim] /= groups;
    shape.insert(shape.begin() + dim, groups);
    return reshaped(t, shape);
  };
  x = grouped(x, 1);  // n, g, c, positions
  w = grouped(w, 0);  // g, o, c, kernel or g, c, o, kernel
  const int wc = transposed ? 1 : 2, wo = transposed ? 2 : 1;
  if (!graph_.axes.unify(x.axes(1), w.axes(0)) || !graph_.axes.unify(x.axes(2), w.axes(wc))) {
    throw Refusal{"a convolution of these channels"};
  }
  Node node;
  node.kind = NodeKind::kConvolution;
  node.name = "acc";
  node.dtype = register_type(x.dtype);
  node.stored = x.dtype;
  node.operands = {x.node, w.node};
  node.axes = x.axes(2);
  Tensor out;
  out.dtype = x.dtype;
  out.dims = {x.dims[0], x.dims[1]};
  out.dims[1].insert(out.dims[1].end(), w.dims[wo].begin(), w.dims[wo].end());
  for (int d = 0; d < rank; ++d) {
    ConvDim window = windows[d];
    window.in = x.axes(d + 3);
    window.kernel = w.axes(d + 3);
    if (window.out_size > 1) window.out = {graph_.axes.fresh(window.out_size)};
    node.axes.insert(node.axes.end(), window.in.begin(), window.in.end());
    node.axes.insert(node.axes.end(), window.kernel.begin(), window.kernel.end());
    out.dims.emplace_back();
    for (AxisId axis : window.out) out.dims.back().push_back({axis, {}});
    node.conv.push_back(std::move(window));
  }
  out.node = add_node(std::move(node));
  layouts_.push_back(out.axes());
  return out;
}

void Lowering::settle_convolution(Node& node) const {
  for (ConvDim& window : node.conv) {
    window.in = graph_.axes.leaves(window.in);
    window.out = graph_.axes.leaves(window.out);
    window.kernel = graph_.axes.leaves(window.kernel);
  }
}

std::string Lowering::convolution_key(const Node& node) {
  std::string key;
  for (const ConvDim& w : node.conv) {
    for (const Axes& axes : {w.in, w.out, w.kernel}) {
      for (AxisId axis : axes) key += std::to_string(axis) + ",";
      key += ";";
    }
    for (int64_t n : {w.stride, w.padding, w.dilation, w.grown, int64_t{w.transposed}}) {
      key += std::to_string(n) + ",";
    }
  }
  return key;
}

}  // namespace kw::teacher
