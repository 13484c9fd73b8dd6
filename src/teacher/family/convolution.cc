#include "teacher/family/convolution.h"

#include <algorithm>
#include <numeric>

namespace kw::teacher {

int64_t Convolution::taps() const {
  int64_t out = 1;
  for (const ConvDim& dim : dims) out *= dim.kernel_size;
  return out;
}

int64_t Convolution::positions() const {
  int64_t out = 1;
  for (const ConvDim& dim : dims) out *= dim.out_size;
  return out;
}

namespace {

bool same_window(const ConvDim& a, const ConvDim& b) {
  return a.in == b.in && a.out == b.out && a.kernel == b.kernel && a.in_size == b.in_size &&
         a.stride == b.stride && a.padding == b.padding && a.dilation == b.dilation &&
         a.grown == b.grown && a.transposed == b.transposed;
}

struct Roles {
  Axes batch, group, channel, filter;
  bool operator==(const Roles&) const = default;
};

// Returns what each axis of one convolution is; nothing if a part is missing on one side.
std::optional<Roles> roles(const Graph& graph, const Node& node) {
  const Axes &x = graph.nodes[node.operands[0]].varies, &w = graph.nodes[node.operands[1]].varies;
  Axes in, kernel;
  for (const ConvDim& dim : node.conv) {
    in = set_union(in, dim.in);
    kernel = set_union(kernel, dim.kernel);
  }
  Roles out;
  out.channel = set_minus(set_minus(sorted(node.axes), in), kernel);
  const Axes shared = set_intersection(x, w);
  if (set_intersection(shared, out.channel) != out.channel) return {};
  if (!set_intersection(x, kernel).empty() || !set_intersection(w, in).empty()) return {};
  out.group = set_minus(shared, out.channel);
  out.batch = set_minus(set_minus(x, shared), in);
  out.filter = set_minus(set_minus(w, shared), kernel);
  return out;
}

}  // namespace

std::optional<Convolution> find_convolution(const Subject& subject) {
  const Graph& graph = subject.graph;
  Convolution out;
  Roles common;
  std::vector<bool> after(graph.nodes.size(), false);  // depends on a convolution
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kReduce || node.kind == NodeKind::kMatmul ||
        node.kind == NodeKind::kScan) {
      return {};
    }
    for (int operand : node.operands) after[i] = after[i] || after[operand];
    if (node.kind != NodeKind::kConvolution) continue;
    const auto own = roles(graph, node);
    if (after[i] || !own) return {};
    after[i] = true;
    if (out.products.empty()) {
      out.dims = node.conv, out.operand = node.stored, common = *own;
    } else if (!(common == *own) || node.stored != out.operand ||
               !std::equal(node.conv.begin(), node.conv.end(), out.dims.begin(), out.dims.end(),
                           same_window)) {
      return {};
    }
    out.products.push_back(static_cast<int>(i));
    auto keep = [](std::vector<int>& list, int id) {
      if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
    };
    keep(out.left, node.operands[0]);
    keep(out.right, node.operands[1]);
  }
  if (out.products.empty()) return {};
  Axes result = set_union(set_union(common.batch, common.group), common.filter);
  for (const ConvDim& dim : out.dims) {
    result = set_union(result, dim.out);
    out.phased |= dim.transposed && dim.stride > 1;
  }
  for (const Output& output : graph.outputs) {
    Axes own = graph.nodes[output.node].varies;
    for (const Piece& piece : output.pieces) own = set_union(own, graph.axes.leaves(piece.axis));
    if (own != result) return {};
  }
  out.batch = merged_loops(graph, subject.table, common.batch);
  out.group = merged_loops(graph, subject.table, common.group);
  out.channel = merged_loops(graph, subject.table, common.channel);
  out.filter = merged_loops(graph, subject.table, common.filter);
  return out;
}

std::string convolution_class(const Subject& subject, const Convolution& conv) {
  std::string out = std::string(dtype_name(conv.operand)) + " rank=" + std::to_string(conv.rank()) +
                    " images=" + size_class(total_size(conv.batch)) +
                    " positions=" + size_class(conv.positions()) +
                    " groups=" + size_class(total_size(conv.group)) +
                    " channels=" + size_class(total_size(conv.channel)) +
                    " filters=" + size_class(total_size(conv.filter)) +
                    " taps=" + size_class(conv.taps());
  for (const auto* loops : {&conv.channel, &conv.group}) {
    const Node& input = subject.graph.nodes[conv.left.front()];
    if (loops->empty() || input.kind != NodeKind::kLoad || !input.operands.empty()) continue;
    const LeafStride* s = loop_stride(subject.table.of_node(conv.left.front()), loops->back());
    if (s && s->stride == 1 && total_size(*loops) > 1) out += " channels-last";
  }
  if (conv.phased) out += " phased";
  if (conv.products.size() > 1) out += " products=" + std::to_string(conv.products.size());
  return out;
}

std::vector<Loop> leaf_loops(const Graph& graph, const Axes& leaves) {
  std::vector<Loop> out;
  for (AxisId leaf : leaves) out.push_back({{leaf}, graph.axes.size(leaf)});
  return out;
}

bool walk_as_one(const Subject& subject, const std::vector<int>& nodes, const Axes& leaves) {
  for (int id : nodes) {
    if (subject.graph.nodes[id].kind != NodeKind::kLoad) return false;
    const Access& access = subject.table.of_node(id);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const LeafStride* s = access.find(leaves[i]);
      if (!s) return false;
      const LeafStride* next = i + 1 < leaves.size() ? access.find(leaves[i + 1]) : nullptr;
      const int64_t inner = next ? next->stride * subject.graph.axes.size(leaves[i + 1]) : 0;
      if (next && s->stride != inner) return false;
    }
  }
  return !leaves.empty();
}

std::string kernel_size_text(const Graph& graph, const ConvDim& dim) {
  return size_text(graph, dim.kernel);
}

std::string index_name(const char* base, int d) { return base + std::to_string(d); }

std::string window_position(const ConvDim& dim, const std::string& o, const std::string& k) {
  auto scaled = [](const std::string& name, int64_t factor) {
    return factor == 1 ? name : name + " * " + std::to_string(factor);
  };
  const bool has_o = !o.empty() && o != "0", has_k = !k.empty() && k != "0";
  std::string out = has_o ? scaled(o, dim.transposed ? 1 : dim.stride) : "";
  const int64_t shift = dim.transposed ? dim.padding : -dim.padding;
  if (shift != 0 || !has_o) {
    out += out.empty() ? std::to_string(shift)
                       : (shift > 0 ? " + " : " - ") + std::to_string(std::abs(shift));
  }
  if (has_k) out += (dim.transposed ? " - " : " + ") + scaled(k, dim.dilation);
  return out;
}

Phase phase_of(const ConvDim& dim) {
  Phase out;
  out.count = dim.out_size == 1 ? 1 : dim.stride;
  out.common = std::gcd(dim.stride, dim.dilation);
  out.step = dim.stride / out.common;
  out.back = dim.dilation / out.common;
  for (int64_t i = 0; i < out.step; ++i) {
    if (i * out.back % out.step == 1 % out.step) out.inverse = i;
  }
  return out;
}

}  // namespace kw::teacher
