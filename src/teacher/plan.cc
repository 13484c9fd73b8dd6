#include "teacher/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace kw::teacher {
namespace {

std::string list_of(const std::vector<std::string>& items, const char* between = ", ") {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : between) + item;
  return out;
}

struct PlannedLoops {
  std::vector<Loop> kept, folded;
  bool walked_so = true;  // by the kernel: convolutions join others

  // "[5, 2], [3]", an item for each axis or each loop.
  template <class Item>
  std::string lists(Item item) const {
    std::string out;
    for (const std::vector<Loop>* loops : {&kept, &folded}) {
      if (loops == &folded && folded.empty()) continue;
      std::vector<std::string> items;
      for (const Loop& loop : *loops) item(loop, items);
      out += (out.empty() ? "[" : ", [") + list_of(items) + "]";
    }
    return out;
  }
  bool any_joined() const {
    const auto joined = [](const Loop& loop) { return loop.axes.size() > 1; };
    return std::ranges::any_of(kept, joined) || std::ranges::any_of(folded, joined);
  }
};

// Returns axes in the order of the results' dimensions; those that results lack come first.
Axes as_in_results(const Graph& graph, const Axes& axes) {
  Axes out;
  for (const Output& output : graph.outputs) {
    std::vector<Piece> pieces = output.pieces;
    std::ranges::stable_sort(pieces, {}, [](const Piece& piece) { return piece.stride.dim; });
    for (const Piece& piece : pieces) {
      for (AxisId leaf : graph.axes.leaves(piece.axis)) {
        if (contains(axes, leaf) && !contains(out, leaf)) out.push_back(leaf);
      }
    }
  }
  const Axes others = set_minus(axes, sorted(out));
  out.insert(out.begin(), others.begin(), others.end());
  return out;
}

// Products and convolutions choose their rows and columns. The order of merged_loops() says nothing
// of that, because it depends on which tensor is the largest.
bool has_own_order(const std::string& family) {
  return family == "matmul" || family == "convolution" || family == "stencil";
}

PlannedLoops planned_loops(const Subject& subject, const std::string& family) {
  const Graph& graph = subject.graph;
  Axes folded, all, positions;
  const Axes* scanned = nullptr;
  for (const Node& node : graph.nodes) {
    all = set_union(all, node.varies);
    // A convolution's own: no loop walks them.
    for (const ConvDim& dim : node.conv) {
      positions = set_union(positions, sorted(graph.axes.leaves(dim.in)));
    }
    if (node.kind == NodeKind::kScan) scanned = &node.axes;
    switch (node.kind) {
      case NodeKind::kReduce:
      case NodeKind::kScan:
      case NodeKind::kMatmul:
      case NodeKind::kConvolution:
        folded = set_union(folded, graph.axes.leaves(node.axes));
        break;
      default:
        break;
    }
  }
  for (const Access& access : subject.table.accesses) {
    for (const LeafStride& s : access.strides) all = set_union(all, {s.axis});
  }
  const Axes not_walked = set_union(window_axes(graph), positions);
  folded = set_minus(sorted(folded), not_walked);
  const Axes kept = set_minus(set_minus(all, not_walked), folded);
  if (has_own_order(family)) {
    return {joined_loops(graph, subject.table, as_in_results(graph, kept)),
            joined_loops(graph, subject.table, folded), positions.empty()};
  }
  return {merged_loops(graph, subject.table, kept),
          // A scan goes in its own order.
          scanned ? joined_loops(graph, subject.table, graph.axes.leaves(*scanned))
                  : merged_loops(graph, subject.table, folded),
          positions.empty()};
}

// The dimension of a tensor that moves with each axis, and behind "~" one that does by an index
// that the kernel works out.
std::string dims_text(const Graph& graph, const std::vector<Piece>& pieces,
                      const std::vector<Gathered>& gathered, const PlannedLoops& loops) {
  std::map<AxisId, std::string> dims;
  std::map<AxisId, AxisId> results_of;  // a convolution's positions -> those of its results
  for (const Node& node : graph.nodes) {
    for (const ConvDim& dim : node.conv) {
      const Axes in = graph.axes.leaves(dim.in), out = graph.axes.leaves(dim.out);
      if (in.size() == 1 && out.size() == 1) results_of.emplace(in[0], out[0]);
    }
  }
  for (const Piece& piece : pieces) {
    if (piece.stride.factor == 0) continue;
    const std::string dim = std::to_string(piece.stride.dim);
    for (AxisId leaf : graph.axes.leaves(piece.axis)) {
      const auto result = results_of.find(leaf);
      if (result == results_of.end()) {
        dims.emplace(leaf, dim);
      } else {
        dims.emplace(result->second, "~" + dim);
      }
    }
  }
  for (const Gathered& index : gathered) {
    if (index.along < 0) continue;
    for (AxisId leaf : graph.axes.leaves(index.along)) {
      dims.emplace(leaf, "~" + std::to_string(index.stride.dim));
    }
  }
  return loops.lists([&](const Loop& loop, std::vector<std::string>& items) {
    for (AxisId leaf : loop.axes) {
      const auto found = dims.find(leaf);
      items.push_back(found == dims.end() ? "_" : found->second);
    }
  });
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> sizes;
  for (int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + list_of(sizes) + (sizes.size() == 1 ? ",)" : ")");
}

std::string results_text(const Graph& graph) {
  std::vector<std::string> results;
  for (const Output& output : graph.outputs) {
    const Value& value = graph.program.values[output.value];
    results.push_back(output.name + " " + shape_text(value.shape));
  }
  return list_of(results);
}

}  // namespace

AxesText axes_text(const Subject& subject, const std::string& family) {
  const Graph& graph = subject.graph;
  const PlannedLoops loops = planned_loops(subject, family);
  std::vector<Loop> walked = loops.kept;
  walked.insert(walked.end(), loops.folded.begin(), loops.folded.end());
  const auto dense = [&](const Access& access) {
    return access.strides.empty() || walks_contiguously(access, walked);
  };
  std::map<int, std::vector<std::string>> said;  // of each tensor that is read
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kLoad) continue;
    std::vector<std::string>& own = said[node.input];
    std::string dims = dims_text(graph, node.pieces, node.gathered, loops);
    if (std::ranges::find(own, dims) == own.end()) own.push_back(std::move(dims));
  }
  if (loops.folded.empty() && loops.kept.size() <= 1 &&
      std::ranges::all_of(subject.table.accesses, dense)) {
    AxesText out{"flat", ""};
    for (const auto& [input, own] : said)
      out.tensors += "; " + tensor_name(graph, input) + ": flat";
    return out;
  }
  AxesText out;
  out.sizes = loops.lists([&](const Loop& loop, std::vector<std::string>& items) {
    for (AxisId leaf : loop.axes) items.push_back(std::to_string(graph.axes.size(leaf)));
  });
  for (const auto& [input, own] : said) {
    for (const std::string& dims : own)
      out.tensors += "; " + tensor_name(graph, input) + ": " + dims;
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Access& access = subject.table.of_output(static_cast<int>(i));
    if (dense(access) || walks_contiguously(access, loops.kept)) continue;
    out.tensors +=
        "; " + graph.outputs[i].name + ": " + dims_text(graph, graph.outputs[i].pieces, {}, loops);
  }
  if (loops.walked_so && loops.any_joined()) {
    out.tensors +=
        "; loops: " + loops.lists([&](const Loop& loop, std::vector<std::string>& items) {
          std::vector<std::string> sizes;
          for (AxisId leaf : loop.axes) sizes.push_back(std::to_string(graph.axes.size(leaf)));
          items.push_back(list_of(sizes, " * "));
        });
  }
  return out;
}

std::string stored_text(const Decomposition& way) {
  std::vector<std::string> names;
  for (const auto& part : way.parts) {
    for (const Output& output : part->graph.outputs) names.push_back(output.name);
  }
  // In the order of the task; memory of parts of a value behind.
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return a[0] != b[0] ? a[0] > b[0] : strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return "-> " + list_of(names) + "\n";
}

std::string plan_text(const Part& part, const Choice& choice, size_t kernels, bool with_axes) {
  std::string line;
  if (with_axes) {
    const AxesText axes = axes_text(part.subject, choice.family);
    line = results_text(part.graph) + "; axes: " + axes.sizes +
           "; values: " + part.subject.operators + axes.tensors;
  } else {
    std::vector<std::string> results;
    for (const Output& output : part.graph.outputs) results.push_back(output.name);
    line = "values: " + part.subject.operators + " -> " + list_of(results);
  }
  line += "; family: " + choice.family + "; tiling: " + choice.tiling +
          "; warps: " + std::to_string(choice.warps);
  if (choice.stages > 0) line += "; stages: " + std::to_string(choice.stages);
  if (kernels > 1) line += "; kernels: " + std::to_string(kernels);
  return line + "\n";
}

}  // namespace kw::teacher
