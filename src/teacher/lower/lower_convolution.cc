// Convolutions and transposed convolutions of any rank are one node that joins an input and a
// weight through windows. Input and weight are copied over separate axes first: the input's
// positions are not those of the result, even if the same tensor is added to it.

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Returns a number for each dimension; one number given is meant for all.
std::vector<int64_t> spread(std::vector<int64_t> given, int rank, int64_t otherwise) {
  if (given.empty()) given.assign(rank, otherwise);
  if (given.size() == 1) given.assign(rank, given[0]);
  if (static_cast<int>(given.size()) != rank) throw Refusal{"a convolution of other rank"};
  return given;
}

// Returns a copy of the subgraph of `id` with other names for some leaves. Renaming all uses of a
// leaf at once, including bound ones, changes no value.
int renamed_node(Builder& b, int id, const std::map<AxisId, AxisId>& names,
                 std::map<int, int>& done) {
  if (auto it = done.find(id); it != done.end()) return it->second;
  Node node = b.graph().nodes[id];
  bool changed = false;
  for (int& operand : node.operands) {
    const int copy = renamed_node(b, operand, names, done);
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
    for (Piece piece : b.leaf_pieces(whole)) {
      rename(piece.axis);
      pieces.push_back(piece);
    }
  }
  node.pieces = std::move(pieces);
  auto rename_all = [&](Axes& axes) {
    axes = b.axes().leaves(axes);
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
  return done[id] = changed ? b.add_node(std::move(node)) : id;
}

// Returns the same value with fresh axes instead of those of `dims`.
Tensor renamed(Builder& b, Tensor t, const std::vector<int>& dims) {
  t = b.use(std::move(t));
  std::map<AxisId, AxisId> names;
  for (int d : dims) {
    for (AxisId leaf : b.axes().leaves(t.axes(d))) {
      if (!names.count(leaf)) names[leaf] = b.axes().fresh(b.axes().size(leaf));
    }
  }
  std::map<int, int> done;
  t.node = renamed_node(b, t.node, names, done);
  for (auto& dim : t.dims) {
    std::vector<Piece> pieces;
    for (const Piece& whole : dim) {
      for (Piece piece : b.leaf_pieces(whole)) {
        if (auto it = names.find(piece.axis); it != names.end()) piece.axis = it->second;
        pieces.push_back(piece);
      }
    }
    dim = std::move(pieces);
  }
  b.name_clones(names);
  b.note_layout(t.axes());
  return t;
}

// Returns the convolution of x [n, groups * c, ...] with w [groups * o, c, ...], or with
// w [groups * c, o, ...] if it is transposed.
Tensor convolve(Builder& b, Tensor x, Tensor w, const std::vector<ConvDim>& windows,
                int64_t groups) {
  const bool transposed = windows[0].transposed;
  const int rank = static_cast<int>(windows.size());
  std::vector<int> all(w.rank());
  for (int d = 0; d < w.rank(); ++d) all[d] = d;
  w = renamed(b, std::move(w), all);
  x = renamed(b, std::move(x), std::vector<int>(all.begin() + 1, all.end()));
  auto grouped = [&](const Tensor& t, int dim) {
    std::vector<int64_t> shape;
    for (int d = 0; d < t.rank(); ++d) shape.push_back(b.extent(t, d));
    if (groups < 1 || shape[dim] % groups != 0) throw Refusal{"a convolution's groups"};
    shape[dim] /= groups;
    shape.insert(shape.begin() + dim, groups);
    return reshaped(b, t, shape);
  };
  x = grouped(x, 1);  // n, g, c, positions
  w = grouped(w, 0);  // g, o, c, kernel or g, c, o, kernel
  const int wc = transposed ? 1 : 2, wo = transposed ? 2 : 1;
  if (!b.axes().unify(x.axes(1), w.axes(0)) || !b.axes().unify(x.axes(2), w.axes(wc))) {
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
    if (window.out_size > 1) window.out = {b.axes().fresh(window.out_size)};
    node.axes.insert(node.axes.end(), window.in.begin(), window.in.end());
    node.axes.insert(node.axes.end(), window.kernel.begin(), window.kernel.end());
    out.dims.emplace_back();
    for (AxisId axis : window.out) out.dims.back().push_back({axis, {}});
    node.conv.push_back(std::move(window));
  }
  out.node = b.add_node(std::move(node));
  b.note_layout(out.axes());
  return out;
}

void lower_convolution(Builder& b, Call& call) {
  const bool transposed = call.flag("transposed", false);
  Tensor x = call.operand("input"), w = call.operand("weight");
  const int rank = w.rank() - 2;
  const bool batched = x.rank() == rank + 2;
  if (rank < 1 || x.rank() < rank + 1) throw Refusal{"a convolution of these ranks"};
  if (x.dtype != w.dtype || !is_floating(x.dtype)) throw Refusal{"a convolution of these dtypes"};
  if (!batched) x.dims.insert(x.dims.begin(), 1, {});
  const auto stride = spread(call.integers("stride"), rank, 1);
  const auto dilation = spread(call.integers("dilation"), rank, 1);
  const auto output_padding =
      transposed ? spread(call.integers("output_padding"), rank, 0) : std::vector<int64_t>(rank, 0);
  const Arg* how = call.arg("padding");
  const auto* word = how ? std::get_if<std::string>(&how->v) : nullptr;
  const auto padding = spread(word ? std::vector<int64_t>{} : call.integers("padding"), rank, 0);
  std::vector<ConvDim> windows(rank);
  for (int d = 0; d < rank; ++d) {
    ConvDim& window = windows[d];
    window.in_size = b.extent(x, d + 2);
    window.kernel_size = b.extent(w, d + 2);
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
  Tensor out = convolve(b, std::move(x), std::move(w), windows, call.integer("groups", 1));
  if (call.present("bias")) {
    const DType dtype = out.dtype;
    Tensor bias = aligned(call.operand("bias"), out.rank(), 1);
    out = b.pointwise("biased", "{0} + {1}", {std::move(out), std::move(bias)}, dtype);
  }
  if (!batched) out.dims.erase(out.dims.begin());
  call.set_result(0, std::move(out));
}

constexpr LoweringRule kConvolutionRules[] = {
    {"aten.conv1d", lower_convolution},
    {"aten.conv2d", lower_convolution},
    {"aten.conv3d", lower_convolution},
    {"aten.convolution", lower_convolution},
};

}  // namespace

std::span<const LoweringRule> convolution_rules() { return kConvolutionRules; }

}  // namespace kw::teacher
