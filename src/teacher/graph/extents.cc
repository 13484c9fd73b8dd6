#include "teacher/graph/extents.h"

#include <algorithm>
#include <set>

namespace kw::teacher {
namespace {

std::string shape_text(const Graph& graph, const SizeOrigin& origin) {
  return tensor_name(graph, origin.input) + ".shape[" + std::to_string(origin.dim) + "]";
}

std::string plus(int64_t n) {
  return n == 0 ? "" : (n > 0 ? " + " : " - ") + std::to_string(std::abs(n));
}

// Names the results' extents as host code over those of the operands, if that gives them: with
// ceil_mode no window begins after its operand.
void name_pooled(Graph& graph) {
  for (const PooledSize& pooled : graph.pooled) {
    const Axes in = graph.axes.leaves(pooled.in), out = graph.axes.leaves(pooled.out);
    if (out.size() != 1 || graph.size_text.count(out[0])) continue;
    if (std::any_of(in.begin(), in.end(), [&](AxisId l) { return !graph.size_text.count(l); })) {
      continue;
    }
    const int64_t size = (graph.axes.size(in) + pooled.grown) / pooled.stride;
    if (size != graph.axes.size(out[0])) continue;
    std::string text = size_text(graph, in);
    if (pooled.grown != 0) {
      text += (pooled.grown > 0 ? " + " : " - ") + std::to_string(std::abs(pooled.grown));
      if (pooled.stride != 1) text = "(" + text + ")";
    }
    if (pooled.stride != 1) text += " // " + std::to_string(pooled.stride);
    graph.size_text[out[0]] = text.find(' ') == std::string::npos ? text : "(" + text + ")";
  }
}

// Names the result's extents as host code over those of input and kernel.
void name_convolved(Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const ConvDim& w : node.conv) {
      if (w.out.size() != 1 || graph.size_text.count(w.out[0])) continue;
      const std::string in = "(" + size_text(graph, w.in) + ")";
      std::string reach;  // - or + dilation * (kernel - 1)
      int64_t number = w.grown;
      const std::string sign = w.transposed ? " + " : " - ";
      if (w.kernel_size > 1) {
        number += (w.transposed ? -1 : 1) * w.dilation;
        reach = sign + (w.dilation == 1 ? "" : std::to_string(w.dilation) + " * ") +
                size_text(graph, w.kernel);
      }
      std::string text;
      const bool plain = in.find(' ') == std::string::npos;
      const std::string size = plain ? in.substr(1, in.size() - 2) : in;
      if (w.transposed) {
        if (w.stride == 1) {
          text = size + reach + plus(number);
        } else {
          text = "(" + size + " - 1) * " + std::to_string(w.stride) + reach + plus(number + 1);
        }
      } else {
        text = size + plus(number) + reach;
        if (w.stride != 1)
          text = "(" + text + plus(-1) + ") // " + std::to_string(w.stride) + " + 1";
      }
      graph.size_text[w.out[0]] = text == size ? text : "(" + text + ")";
    }
  }
}

void name_derived(Graph& graph) {
  name_pooled(graph);
  name_convolved(graph);
  name_pooled(graph);  // of what was convolved
}

// Returns the leaves whose sizes name_derived() may give.
std::set<AxisId> derived_leaves(const Graph& graph) {
  std::set<AxisId> out;
  auto add = [&](const Axes& leaves) {
    if (leaves.size() == 1) out.insert(leaves[0]);
  };
  for (const PooledSize& pooled : graph.pooled) add(graph.axes.leaves(pooled.out));
  for (const Node& node : graph.nodes) {
    for (const ConvDim& dim : node.conv) add(dim.out);
  }
  return out;
}

}  // namespace

void name_sizes(Graph& graph) {
  auto unknown = [&](const Axes& leaves) {
    Axes out;
    for (AxisId leaf : leaves) {
      if (!graph.size_text.count(leaf)) out.push_back(leaf);
    }
    return out;
  };
  for (size_t allowed = 1; allowed <= 8; ++allowed) {
    for (const SizeOrigin& origin : graph.origins) {
      if (origin.input >= graph.inputs) continue;
      const Axes leaves = graph.axes.leaves(origin.axes);
      Axes open = unknown(leaves);
      if (open.empty() || open.size() > allowed) continue;
      if (allowed == 1 && leaves.size() > 1) continue;  // whole dimensions name their leaf first
      while (open.size() > 1) {
        graph.size_text[open[0]] = std::to_string(graph.axes.size(open[0]));
        open.erase(open.begin());
      }
      std::string text = shape_text(graph, origin);
      Axes others;
      for (AxisId leaf : leaves) {
        if (leaf != open[0]) others.push_back(leaf);
      }
      if (!others.empty()) {
        const std::string divisor = size_text(graph, others);
        const bool simple = divisor.find(' ') == std::string::npos;
        text += " // " + (simple ? divisor : "(" + divisor + ")");
      }
      graph.size_text[open[0]] = text;
    }
  }
  name_derived(graph);
}

void name_sizes_nearby(Graph& part) {
  std::set<int> read;
  for (const Node& node : part.nodes) {
    if (node.kind == NodeKind::kLoad && node.input >= part.inputs) read.insert(node.input);
  }
  std::set<AxisId> settled;  // arguments' dimensions, and those of memory that is read
  bool any = false;
  for (const SizeOrigin& origin : part.origins) {
    const Axes leaves = part.axes.leaves(origin.axes);
    if (leaves.size() != 1) continue;
    if (origin.input < part.inputs) {
      settled.insert(leaves[0]);
    } else if (read.contains(origin.input)) {
      part.size_text[leaves[0]] = shape_text(part, origin);
      settled.insert(leaves[0]);
      any = true;
    }
  }
  if (!any) return;
  std::map<AxisId, std::string> before;
  for (AxisId leaf : derived_leaves(part)) {
    if (!settled.contains(leaf)) before.insert(part.size_text.extract(leaf));
  }
  name_derived(part);
  part.size_text.merge(before);
}

}  // namespace kw::teacher
