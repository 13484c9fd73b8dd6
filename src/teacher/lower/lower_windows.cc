// Pooling and other windows. A small window is folded wherever its value is used, in loops of
// constants, and fuses like a pointwise node. If the place of its maximum is wanted or windows are
// not alike, its reads are written out one by one. A large window becomes separate axes and a
// reduction over them.
#include <algorithm>
#include <array>
#include <set>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// One dimension of a window. Regular windows start at out * stride - padding. Adaptive ones start
// at floor(out * size / n) and end at ceil((out + 1) * size / n), which are index nodes.
struct Window {
  int dim = 0;
  int64_t size = 1, out = 1;  // of the input's and the result's dimension
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  AxisId axis = -1;  // of the result
  int first = -1, end = -1;
  int64_t least = 1;  // elements that every adaptive window has
};

constexpr int64_t kWrittenOut = 64;  // elements of a window

// Returns what a maximum starts from.
std::string lowest(DType type) {
  switch (type) {
    case DType::kInt64:
      return "(-9223372036854775808)";
    case DType::kInt32:
      return "(-2147483648)";
    case DType::kInt16:
      return "(-32768)";
    case DType::kInt8:
      return "(-128)";
    case DType::kUInt8:
    case DType::kBool:
      return "0";
    default:
      return "float(\"-inf\")";
  }
}

// Returns what writing a node out counts as. A call of a function with a hundred instructions for
// each element of a tile counts as several.
int64_t length_of(const Node& node) {
  constexpr std::array kLong = {"tl.sin(", "tl.cos(", "libdevice."};
  constexpr int64_t kCall = 16;
  const bool calls = std::ranges::any_of(
      kLong, [&](const char* name) { return node.expression.find(name) != std::string::npos; });
  return calls ? kCall : 1;
}

int64_t taps(const auto& windows) {
  int64_t out = 1;
  for (const auto& window : windows) out *= window.kernel;
  return out;
}

std::vector<Window> windows_of(Builder& b, Call& call, const Tensor& t, bool adaptive) {
  const std::vector<int64_t>& shape = call.result_value().shape;
  if (static_cast<int>(shape.size()) != t.rank()) throw Refusal{"a pool that changes the rank"};
  const size_t digit = call.op().find("pool") + 4;
  const int n = call.op().at(digit) - '0';
  if (n < 1 || n > 3 || n > t.rank()) throw Refusal{"a pool of too few dimensions"};
  auto of = [&](const char* key, int i, int64_t otherwise) {
    const std::vector<int64_t> given = adaptive ? std::vector<int64_t>() : call.integers(key);
    if (given.empty()) return otherwise;
    return given[given.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  std::vector<Window> out;
  for (int i = 0; i < n; ++i) {
    Window w;
    w.dim = t.rank() - n + i;
    w.size = b.extent(t, w.dim);
    w.out = shape[w.dim];
    w.axis = b.loop_of(w.out);
    w.kernel = of("kernel_size", i, 1);
    w.stride = of("stride", i, w.kernel);
    w.padding = of("padding", i, 0);
    w.dilation = of("dilation", i, 1);
    if (w.kernel < 1 || w.stride < 1 || w.dilation < 1 || w.padding < 0) {
      throw Refusal{"a window of no size"};
    }
    if (adaptive && w.size % w.out == 0) {
      w.kernel = w.stride = w.size / w.out;
    } else if (adaptive) {
      const int place = index_of(b, w.axis);
      const std::string size = std::to_string(w.size), many = std::to_string(w.out);
      w.first = integer_node(b, "first", "{0} * " + size + " // " + many, {place});
      w.end = integer_node(
          b, "end", "({0} * " + size + " + " + std::to_string(w.size + w.out - 1) + ") // " + many,
          {place});
      w.least = w.size;
      for (int64_t o = 0; o < w.out; ++o) {
        const int64_t length = ((o + 1) * w.size + w.out - 1) / w.out - o * w.size / w.out;
        w.kernel = std::max(w.kernel, length);
        w.least = std::min(w.least, length);
      }
    }
    if (!adaptive && w.axis >= 0) {
      const int64_t grown = 2 * w.padding - w.dilation * (w.kernel - 1) - 1 + w.stride +
                            (call.flag("ceil_mode", false) ? w.stride - 1 : 0);
      b.graph().pooled.push_back({w.axis, t.axes(w.dim), grown, w.stride});
    }
    out.push_back(w);
  }
  return out;
}

// Returns where element k of the window lies.
Position tap(Builder& b, const Window& w, int64_t k) {
  if (w.first < 0) return ranged(b, {{w.axis, w.stride}}, k * w.dilation - w.padding, w.size);
  Position position;
  position.node =
      k == 0 ? w.first : integer_node(b, "index", "{0} + " + std::to_string(k), {w.first});
  if (k >= w.least) position.guard = condition_node(b, "{0} < {1}", {position.node, w.end});
  position.along = w.axis;
  position.step = std::max<int64_t>(w.size / w.out, 1);
  return position;
}

// Returns the row-major position in the plane of the pooled dimensions.
int plane_index(Builder& b, const std::vector<Window>& windows,
                const std::vector<Position>& positions) {
  std::string text;
  std::vector<int> operands;
  int64_t inner = 1;
  for (size_t i = windows.size(); i-- > 0;) {
    const std::string own = "{" + std::to_string(operands.size()) + "}" +
                            (inner == 1 ? "" : " * " + std::to_string(inner));
    text = text.empty() ? own : own + " + " + text;
    operands.push_back(position_index(b, positions[i]));
    inner *= windows[i].size;
  }
  return integer_node(b, "place", text, std::move(operands));
}

// Returns the elements of each dimension's windows that exist for at least one result.
std::vector<std::vector<Position>> taps_of(Builder& b, const std::vector<Window>& windows) {
  std::vector<std::vector<Position>> out;
  for (const Window& w : windows) {
    out.emplace_back();
    for (int64_t k = 0; k < w.kernel; ++k) {
      const int64_t low = k * w.dilation - w.padding;
      const bool never = w.first < 0 && (low >= w.size || low + (w.out - 1) * w.stride < 0);
      if (!never) out.back().push_back(tap(b, w, k));
    }
    if (out.back().empty()) throw Refusal{"a window outside of its operand"};
  }
  return out;
}

// A maximum and its place while elements are compared one by one. As in PyTorch, the first of equal
// elements is kept, and the last of several NaN.
struct Extremum {
  int best = -1, place = -1;  // nodes
  bool may_lack = false;      // some windows have had no element yet: their place is -1
};

void fold(Builder& b, Extremum& found, const Tensor& value, int place,
          const std::vector<int>& guards) {
  const DType type = register_type(value.dtype);
  if (found.best < 0) {
    Tensor first;
    first.dtype = DType::kInt32;
    first.node = place;
    found = {value.node, selected(b, guards, first, "-1").node, !guards.empty()};
    return;
  }
  std::string better = is_floating(type) ? "({1} > {0}) | ({1} != {1})" : "({1} > {0})";
  std::vector<int> operands = {found.best, value.node};
  std::vector<DType> types = {type, type};
  auto add = [&](int node, DType dtype) {
    operands.push_back(node);
    types.push_back(dtype);
    return "{" + std::to_string(operands.size() - 1) + "}";
  };
  if (found.may_lack) better += " | (" + add(found.place, DType::kInt32) + " < 0)";
  if (!guards.empty()) better = "(" + better + ")";
  for (int guard : guards) better += " & " + add(guard, DType::kBool);
  const int take = expression_node(b, "better", better, operands, types, DType::kBool);
  const char* const choice = "tl.where({0}, {1}, {2})";
  found.place = expression_node(b, "place", choice, {take, place, found.place},
                                {DType::kBool, DType::kInt32, DType::kInt32}, DType::kInt32);
  found.best = expression_node(b, "pooled", choice, {take, value.node, found.best},
                               {DType::kBool, type, type}, type);
}

Tensor unrolled(Builder& b, const Tensor& t, const std::vector<Window>& windows, bool largest,
                Tensor* index) {
  const DType type = register_type(t.dtype);
  const std::vector<std::vector<Position>> positions = taps_of(b, windows);
  Tensor out = t;
  for (const Window& w : windows) out.dims[w.dim] = pieces_of(w.axis);
  const std::string nan = is_floating(type) ? ", propagate_nan=tl.PropagateNan.ALL)" : ")";
  const std::string joined = largest ? "tl.maximum({0}, {1}" + nan : "{0} + {1}";
  Extremum found;
  std::vector<size_t> counter(windows.size(), 0);
  for (bool more = true; more;) {
    std::vector<Position> chosen;
    std::vector<int> guards;
    Positions at;
    for (size_t i = 0; i < windows.size(); ++i) {
      chosen.push_back(positions[i][counter[i]]);
      if (chosen.back().guard >= 0) guards.push_back(chosen.back().guard);
      place(b, t, windows[i].dim, chosen.back(), at);
    }
    const Tensor value =
        selected(b, guards, taken(b, t, at, out.dims), largest ? lowest(type) : "0.0");
    if (index) {
      fold(b, found, value, plane_index(b, windows, chosen), guards);
    } else if (found.best < 0) {
      found.best = value.node;
    } else {
      found.best =
          expression_node(b, "pooled", joined, {found.best, value.node}, {type, type}, type);
    }
    more = false;
    for (size_t i = windows.size(); i-- > 0 && !more;) {
      more = ++counter[i] < positions[i].size();
      if (!more) counter[i] = 0;
    }
  }
  out.node = found.best;
  if (index) {
    *index = out;
    index->node = found.place;
    index->dtype = DType::kInt32;
  }
  return out;
}

// Returns `t` folded over its last dimensions, `inner`.
Tensor fold_window(Builder& b, ReduceOp op, Tensor t, const std::vector<int>& inner) {
  Node node;
  node.kind = NodeKind::kWindow;
  node.name = "pooled";
  node.dtype = register_type(t.dtype);
  node.reduce = op;
  node.operands = {t.node};
  for (int d : inner) {
    const Axes own = b.axes().leaves(t.axes(d));
    node.axes.insert(node.axes.end(), own.begin(), own.end());
  }
  t.dims.resize(t.dims.size() - inner.size());
  if (!node.axes.empty()) t.node = b.add_node(std::move(node));
  return t;
}

// Returns the pool over separate axes for a window's elements: folded in loops of constants, or
// reduced.
Tensor walked(Builder& b, const Tensor& t, const std::vector<Window>& windows, bool largest,
              Tensor* index, bool folded) {
  const DType type = register_type(t.dtype);
  std::vector<std::vector<Piece>> dims = t.dims;
  std::vector<Position> positions;
  std::vector<int> guards, inner;
  Positions at;
  for (const Window& w : windows) {
    const AxisId along = b.loop_of(w.kernel);
    Position position;
    if (w.first < 0) {
      position = ranged(b, {{w.axis, w.stride}, {along, w.dilation}}, -w.padding, w.size);
    } else {
      position.node = along < 0
                          ? w.first
                          : integer_node(b, "index", "{0} + {1}", {w.first, index_of(b, along)});
      position.guard = condition_node(b, "{0} < {1}", {position.node, w.end});
      position.along = along < 0 ? w.axis : along;
      position.step = 1;
    }
    if (position.guard >= 0) guards.push_back(position.guard);
    place(b, t, w.dim, position, at);
    positions.push_back(position);
    dims[w.dim] = pieces_of(w.axis);
    inner.push_back(static_cast<int>(dims.size()));
    dims.push_back(pieces_of(along));
  }
  const Tensor value = selected(b, guards, taken(b, t, at, dims), largest ? lowest(type) : "0.0");
  const ReduceOp op = largest ? ReduceOp::kMaximum : ReduceOp::kSum;
  Tensor out =
      folded ? fold_window(b, op, value, inner) : b.reduce("pooled", op, value, inner, true);
  if (index) {  // the first that holds the maximum, but of several NaN the last
    Tensor where = value;
    where.node = plane_index(b, windows, positions);
    where.dtype = DType::kInt32;
    auto candidate = [&](const std::string& expression) {
      std::vector<Tensor> operands = {value, out, where};
      std::vector<DType> types = {type, type, DType::kInt32};
      return b.pointwise("candidate", expression, operands, types, DType::kInt32);
    };
    // A neutral element outside of the operand is not to be found.
    Tensor first = candidate("tl.where({0} == {1}, {2}, 2147483647)");
    first =
        b.reduce("first", ReduceOp::kMin, selected(b, guards, first, "2147483647"), inner, true);
    Tensor last = candidate("tl.where({0} != {0}, {2}, -1)");
    last = b.reduce("last", ReduceOp::kMax, selected(b, guards, last, "-1"), inner, true);
    *index = b.pointwise("place", "tl.where({0} < 0, {1}, {0})", {last, first},
                         {DType::kInt32, DType::kInt32}, DType::kInt32);
    index->dims.resize(static_cast<size_t>(t.rank()));
  }
  out.dims.resize(static_cast<size_t>(t.rank()));
  return out;
}

// Returns the sum of a window as its mean. The divisor is a number, or the number of elements that
// the window has at its position.
Tensor divided(Builder& b, Call& call, Tensor sum, const std::vector<Window>& windows) {
  const DType type = register_type(sum.dtype);
  int64_t constant = 1;
  std::vector<int> counts;
  const bool padding_counts = call.flag("count_include_pad", true);
  for (const Window& w : windows) {
    if (w.first >= 0) {
      counts.push_back(integer_node(b, "count", "{0} - {1}", {w.end, w.first}));
      continue;
    }
    const int64_t low = padding_counts ? -w.padding : 0;
    const int64_t high = padding_counts ? w.size + w.padding : w.size;
    const int64_t last = (w.out - 1) * w.stride - w.padding;
    if (-w.padding >= low && last + w.kernel <= high) {
      constant *= w.kernel;
    } else if (w.axis < 0) {
      constant *= std::min(w.kernel - w.padding, high) - std::max(-w.padding, low);
    } else {
      const Position start{{{w.axis, w.stride}}, -w.padding};
      counts.push_back(integer_node(b, "count",
                                    "tl.minimum({0} + " + std::to_string(w.kernel) + ", " +
                                        std::to_string(high) + ") - tl.maximum({0}, " +
                                        std::to_string(low) + ")",
                                    {position_index(b, start)}));
    }
  }
  if (call.present("divisor_override")) {
    constant = call.integer("divisor_override", 1);
    counts.clear();
  }
  if (constant == 1 && counts.empty()) return sum;
  std::string divisor = counts.empty() ? literal(static_cast<double>(constant), type) : "";
  Node node;
  node.name = "mean";
  node.dtype = type;
  node.operands = {sum.node};
  node.operand_types = {type};
  if (!counts.empty()) {
    for (int count : counts) {
      divisor +=
          (divisor.empty() ? "(" : " * ") + ("{" + std::to_string(node.operands.size()) + "}");
      node.operands.push_back(count);
      node.operand_types.push_back(DType::kInt32);
    }
    divisor += (constant == 1 ? "" : " * " + std::to_string(constant)) + ")";
  }
  node.expression = "{0} / " + divisor;
  sum.node = b.add_node(std::move(node));
  return sum;
}

void pool(Builder& b, Call& call, Tensor t, const std::vector<Window>& windows, bool largest,
          bool with_index) {
  Axes inside;
  bool single = true;
  for (const Window& w : windows) {
    inside = set_union(inside, b.axes().leaves(t.axes(w.dim)));
    single &= w.out == 1;
  }
  // Every element of a window computes again what comes before the pool.
  int64_t cost = 0;
  std::set<int> seen;
  std::vector<int> open = {t.node};
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = b.graph().nodes[id];
    if (set_intersection(free_axes(b, id), inside).empty()) continue;
    if (node.kind != NodeKind::kPointwise && node.kind != NodeKind::kLoad &&
        node.kind != NodeKind::kIndex && node.kind != NodeKind::kWindow) {
      throw Refusal{"a window over a reduction or a product"};
    }
    cost += b.axes().size(b.axes().leaves(node.axes)) * length_of(node);
    open.insert(open.end(), node.operands.begin(), node.operands.end());
  }
  const int64_t elements = taps(windows);
  const bool small = elements <= (single ? 16 : kWrittenOut) && elements * cost <= 16 * kWrittenOut;
  const bool alike =
      std::ranges::all_of(windows, [](const Window& w) { return w.first < 0; }) &&
      (register_type(t.dtype) == DType::kFloat32 || register_type(t.dtype) == DType::kFloat64);
  Tensor index;
  Tensor* wanted = with_index ? &index : nullptr;
  Tensor out = small && (with_index || !alike) ? unrolled(b, t, windows, largest, wanted)
                                               : walked(b, t, windows, largest, wanted, small);
  b.note_layout(out.axes());
  if (with_index) call.set_result(1, b.cast("cast", index, DType::kInt64));
  if (!largest) out = divided(b, call, std::move(out), windows);
  call.set_result(0, std::move(out));
}

// im2col gives every window as a column.
void lower_im2col(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("self"));
  if (t.rank() < 3) throw Refusal{"an image of too few dimensions"};
  const std::vector<int64_t> kernel = call.integers("kernel_size"),
                             dilation = call.integers("dilation"),
                             padding = call.integers("padding"), stride = call.integers("stride");
  if (kernel.size() != 2 || dilation.size() != 2 || padding.size() != 2 || stride.size() != 2) {
    throw Refusal{"windows that are not of two dimensions"};
  }
  for (int i = 0; i < 2; ++i) {
    if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1) throw Refusal{"a window of no size"};
  }
  std::vector<Piece> rows = t.dims[t.rank() - 3], columns;
  std::vector<int> guards;
  Positions at;
  for (int i = 0; i < 2; ++i) {
    const int dim = t.rank() - 2 + i;
    const int64_t size = b.extent(t, dim);
    const int64_t count =
        (size + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    const AxisId outer = b.loop_of(count), inner = b.loop_of(kernel[i]);
    const Position position =
        ranged(b, {{outer, stride[i]}, {inner, dilation[i]}}, -padding[i], size);
    if (position.guard >= 0) guards.push_back(position.guard);
    place(b, t, dim, position, at);
    for (const Piece& piece : pieces_of(inner)) rows.push_back(piece);
    for (const Piece& piece : pieces_of(outer)) columns.push_back(piece);
  }
  std::vector<std::vector<Piece>> dims(t.dims.begin(), t.dims.end() - 3);
  dims.push_back(rows);
  dims.push_back(columns);
  const std::string zero = literal(0.0, register_type(t.dtype));
  call.set_result(0, selected(b, guards, taken(b, t, at, std::move(dims)), zero));
}

// Gives the pool of the call's `self`: its maximum or its mean over windows.
void give_pool(Builder& b, Call& call, bool largest, bool adaptive) {
  const bool with_index = largest && call.is_used(1);
  Tensor t = call.operand("self");
  t = with_index ? b.as_stored(std::move(t)) : b.use(std::move(t));
  if (!largest && !is_floating(t.dtype)) throw Refusal{"a mean of integers"};
  const std::vector<Window> windows = windows_of(b, call, t, adaptive);
  pool(b, call, std::move(t), windows, largest, with_index);
}

void lower_avg_pool(Builder& b, Call& call) { give_pool(b, call, false, false); }
void lower_adaptive_avg_pool(Builder& b, Call& call) { give_pool(b, call, false, true); }
void lower_max_pool(Builder& b, Call& call) { give_pool(b, call, true, false); }
void lower_adaptive_max_pool(Builder& b, Call& call) { give_pool(b, call, true, true); }

constexpr LoweringRule kWindowRules[] = {
    {"aten._adaptive_avg_pool2d", lower_adaptive_avg_pool},
    {"aten._adaptive_avg_pool3d", lower_adaptive_avg_pool},
    {"aten.adaptive_max_pool2d", lower_adaptive_max_pool},
    {"aten.adaptive_max_pool3d", lower_adaptive_max_pool},
    {"aten.avg_pool2d", lower_avg_pool},
    {"aten.avg_pool3d", lower_avg_pool},
    {"aten.im2col", lower_im2col},
    {"aten.max_pool2d_with_indices", lower_max_pool},
    {"aten.max_pool3d_with_indices", lower_max_pool},
};

}  // namespace

std::span<const LoweringRule> window_rules() { return kWindowRules; }

}  // namespace kw::teacher
