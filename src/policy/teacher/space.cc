#include "policy/teacher/space.h"

#include <algorithm>

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
  for (const Access& access : accesses) out += access.bytes;
  return out;
}

// A block may run past the end of a loop before its mask stops it: leave room for that.
bool AccessTable::needs_int64() const {
  for (const Access& access : accesses) {
    if (access.reach >= (int64_t{1} << 31) - (int64_t{1} << 24)) return true;
  }
  return false;
}

AccessTable access_table(const Graph& graph, const Program& program) {
  AccessTable table;
  auto add = [&](Access access, DType dtype) {
    for (const LeafStride& s : access.strides) {
      access.numel *= graph.axes.size(s.axis);
      access.reach += std::abs(s.stride) * (graph.axes.size(s.axis) - 1);
    }
    access.reach = std::max(access.reach, access.numel);
    if (access.kind != Access::Kind::kIndex) access.bytes = access.numel * dtype_bytes(dtype);
    table.accesses.push_back(std::move(access));
  };
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Output& output = graph.outputs[i];
    const Value& value = program.values[output.value];
    add({Access::Kind::kStore, static_cast<int>(i),
         leaf_strides(graph, output.pieces, "out" + std::to_string(i), value.strides)},
        value.dtype);
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kLoad) {
      const Value& value = program.values[program.inputs[node.input]];
      add({Access::Kind::kLoad, static_cast<int>(i),
           leaf_strides(graph, node.pieces, "a" + std::to_string(node.input), value.strides)},
          value.dtype);
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
    // Loops that only smaller accesses know stand outside.
    return ka.first != kb.first ? ka.first > kb.first : ka.second > kb.second;
  });
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
