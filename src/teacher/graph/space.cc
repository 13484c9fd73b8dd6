#include "teacher/graph/space.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kw::teacher {

const LeafStride* Access::find(AxisId leaf) const {
  for (const LeafStride& s : strides) {
    if (s.axis == leaf) return &s;
  }
  return nullptr;
}

const Access& AccessTable::of_node(int node) const {
  for (const Access& access : accesses) {
    if (access.kind != Access::Kind::kStore && access.id == node) return access;
  }
  throw Refusal{"a node without an access"};
}

const Access& AccessTable::of_output(int output) const {
  for (const Access& access : accesses) {
    if (access.kind == Access::Kind::kStore && access.id == output) return access;
  }
  throw Refusal{"an output without an access"};
}

int64_t AccessTable::bytes() const {
  int64_t out = 0;
  std::map<int, std::pair<int64_t, int64_t>> inputs;  // input -> read in all, size of it
  for (const Access& access : accesses) {
    if (access.kind != Access::Kind::kLoad) {
      out += access.bytes;
      continue;
    }
    auto& [read, size] = inputs[access.input];
    read += access.bytes;
    size = access.input_bytes;
  }
  for (const auto& [input, traffic] : inputs) out += std::min(traffic.first, traffic.second);
  return out;
}

// A block may run past the end of a loop before its mask stops it: leave room for that.
bool AccessTable::needs_int64() const {
  for (const Access& access : accesses) {
    if (access.reach >= (int64_t{1} << 31) - (int64_t{1} << 24)) return true;
  }
  return false;
}

namespace {

// Estimates what an access with a computed index reads: how it moves along each leaf, and at most
// the whole tensor.
void add_likely(const Graph& graph, const Node& node, const Value& value, Access& access) {
  if (node.gathered.empty()) return;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    access.reach += std::abs(value.strides[d]) * (value.shape[d] - 1);
  }
  constexpr int64_t kUnknown = 1 << 20;  // no two neighbours in one sector
  for (AxisId leaf : node.varies) {
    if (access.find(leaf)) continue;
    int64_t stride = 0;
    for (const Gathered& g : node.gathered) {
      const int64_t own = stride_value(graph, g.stride, value.strides);
      if (g.along < 0) {
        stride = std::max(stride, kUnknown);
        continue;
      }
      const Axes along = graph.axes.leaves(g.along);
      for (size_t i = 0; i < along.size(); ++i) {
        if (along[i] != leaf) continue;
        const Axes inner(along.begin() + static_cast<long>(i) + 1, along.end());
        stride = std::max(stride, std::abs(own * g.step) * graph.axes.size(inner));
      }
    }
    if (stride != 0) access.likely.push_back({leaf, stride, ""});
  }
}

}  // namespace

AccessTable access_table(const Graph& graph, const Program& program) {
  AccessTable table;
  const Axes windows = window_axes(graph);
  auto add = [&](Access access, DType dtype) {
    const auto walk = [&](AxisId leaf) {  // windows are no loops: they read elements again
      if (!contains(windows, leaf)) access.numel *= graph.axes.size(leaf);
    };
    for (const LeafStride& s : access.strides) {
      walk(s.axis);
      access.reach += std::abs(s.stride) * (graph.axes.size(s.axis) - 1);
    }
    access.reach = std::max(access.reach, access.numel);
    for (const LeafStride& s : access.likely) walk(s.axis);
    if (!access.likely.empty()) access.numel = std::min(access.numel, access.reach + 1);
    if (access.kind == Access::Kind::kLoad) {
      access.again = graph.axes.size(set_intersection(graph.nodes[access.id].varies, windows));
    }
    if (access.kind != Access::Kind::kIndex) access.bytes = access.numel * dtype_bytes(dtype);
    table.accesses.push_back(std::move(access));
  };
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Output& output = graph.outputs[i];
    const Value& value = program.values[output.value];
    add({Access::Kind::kStore, static_cast<int>(i),
         leaf_strides(graph, output.pieces, output.name, value.strides)},
        value.dtype);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kLoad) {
      const Value& value = program.values[program.inputs[node.input]];
      Access access{
          Access::Kind::kLoad, static_cast<int>(i),
          leaf_strides(graph, node.pieces, tensor_name(graph, node.input), value.strides)};
      access.input = node.input;
      access.input_bytes = value.bytes();
      add_likely(graph, node, value, access);
      add(std::move(access), value.dtype);
    } else if (node.kind == NodeKind::kIndex) {
      Access access{Access::Kind::kIndex, static_cast<int>(i), {}};
      for (size_t k = 0; k < node.axes.size(); ++k) {
        const Axes inner(node.axes.begin() + k + 1, node.axes.end());
        access.strides.push_back({node.axes[k], graph.axes.size(inner), size_text(graph, inner)});
      }
      add(std::move(access), DType::kInt32);
    }
  }
  std::stable_sort(table.accesses.begin(), table.accesses.end(),
                   [](const Access& a, const Access& b) { return a.numel > b.numel; });
  return table;
}

const LeafStride* loop_stride(const Access& access, const Loop& loop) {
  return access.find(loop.axes.back());
}

bool walks_contiguously(const Access& access, const std::vector<Loop>& loops) {
  int64_t expected = 1;
  size_t leaves = 0;
  for (size_t i = loops.size(); i-- > 0;) {
    const LeafStride* s = loop_stride(access, loops[i]);
    if (!s || s->stride != expected) return false;
    expected *= loops[i].size;
    leaves += loops[i].axes.size();
  }
  return leaves == access.strides.size();
}

const LeafStride* likely_stride(const Access& access, const Loop& loop) {
  for (const LeafStride& s : access.likely) {
    if (s.axis == loop.axes.back()) return &s;
  }
  return loop_stride(access, loop);
}

std::vector<Loop> merged_loops(const Graph& graph, const AccessTable& table, Axes leaves) {
  auto key = [&](AxisId leaf) -> std::pair<size_t, int64_t> {
    for (size_t i = 0; i < table.accesses.size(); ++i) {
      if (const LeafStride* s = table.accesses[i].find(leaf)) return {i, s->stride};
    }
    return {table.accesses.size(), 0};
  };
  std::sort(leaves.begin(), leaves.end());
  std::stable_sort(leaves.begin(), leaves.end(), [&](AxisId a, AxisId b) {
    const auto ka = key(a), kb = key(b);
    // Loops that only smaller accesses know come first.
    return ka.first != kb.first ? ka.first > kb.first : ka.second > kb.second;
  });
  return joined_loops(graph, table, leaves);
}

std::vector<Loop> joined_loops(const Graph& graph, const AccessTable& table, const Axes& leaves) {
  std::vector<Loop> loops;
  for (AxisId leaf : leaves) {
    const int64_t size = graph.axes.size(leaf);
    bool joins = !loops.empty();
    for (const Access& access : table.accesses) {
      if (!joins) break;
      const LeafStride* outer = access.find(loops.back().axes.back());
      const LeafStride* inner = access.find(leaf);
      joins = (outer == nullptr) == (inner == nullptr) &&
              (!outer || outer->stride == inner->stride * size);
    }
    if (joins) {
      loops.back().axes.push_back(leaf);
      loops.back().size *= size;
    } else {
      loops.push_back({{leaf}, size});
    }
  }
  return loops;
}

int64_t total_size(const std::vector<Loop>& loops) {
  int64_t out = 1;
  for (const Loop& loop : loops) out *= loop.size;
  return out;
}

std::string total_text(const Graph& graph, const std::vector<Loop>& loops) {
  Axes all;
  for (const Loop& loop : loops) all.insert(all.end(), loop.axes.begin(), loop.axes.end());
  return size_text(graph, all);
}

}  // namespace kw::teacher
