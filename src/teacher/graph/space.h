// Loops of a kernel: leaves of the graph merged into as few as every access allows.
#pragma once

#include <string>
#include <vector>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// Every place where axes become an address or a position: loads, stores, index nodes.
struct Access {
  enum class Kind { kLoad, kStore, kIndex };
  Kind kind = Kind::kLoad;
  int id = 0;                       // node, or output
  std::vector<LeafStride> strides;  // leaves it varies with
  int64_t numel = 1;                // distinct elements
  int64_t again = 1;                // times that windows read so many
  int64_t bytes = 0;                // moved when each is touched once
  int64_t reach = 0;                // largest offset in elements
  int input = -1;                   // that a load reads
  int64_t input_bytes = 0;          // of all of it

  // How the index of a load that computes it mostly moves. Only the memory model uses this.
  std::vector<LeafStride> likely;

  const LeafStride* find(AxisId leaf) const;
};

struct AccessTable {
  std::vector<Access> accesses;  // the largest first, stores before loads of equal size
  const Access& of_node(int node) const;
  const Access& of_output(int output) const;
  int64_t bytes() const;  // of loads and stores; an input that is read several times: once
  bool needs_int64() const;
};

AccessTable access_table(const Graph& graph, const Program& program);

// One loop: neighbouring leaves, outermost first.
struct Loop {
  Axes axes;
  int64_t size = 1;
};

// Orders leaves by their stride in the largest access that has them (widest first), then merges
// neighbours that every access walks as one.
std::vector<Loop> merged_loops(const Graph& graph, const AccessTable& table, Axes leaves);
// Does the same in the order given.
std::vector<Loop> joined_loops(const Graph& graph, const AccessTable& table, const Axes& leaves);

// Returns the stride of a loop in an access, which is that of its innermost leaf; null if the
// access does not vary with it.
const LeafStride* loop_stride(const Access& access, const Loop& loop);
// Returns whether the access walks these loops (row-major), and no others, without a gap.
bool walks_contiguously(const Access& access, const std::vector<Loop>& loops);

// Returns the same for the memory model, also if the access computes its index.
const LeafStride* likely_stride(const Access& access, const Loop& loop);

int64_t total_size(const std::vector<Loop>& loops);
std::string total_text(const Graph& graph, const std::vector<Loop>& loops);

}  // namespace kw::teacher
