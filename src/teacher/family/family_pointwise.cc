// Pointwise fragments: one flat loop over all elements, or a tile of two loops where operands are
// broadcast or transposed.
#include <algorithm>
#include <cmath>

#include "teacher/emit/body.h"
#include "teacher/family/family.h"

namespace kw::teacher {
namespace {

bool all_outputs_cover(const Subject& subject, Axes* leaves) {
  const Graph& graph = subject.graph;
  bool first = true;
  for (const Output& output : graph.outputs) {
    Axes own;
    for (const Piece& piece : output.pieces) own = set_union(own, graph.axes.leaves(piece.axis));
    own = set_union(own, graph.nodes[output.node].varies);
    if (!first && own != *leaves) return false;
    *leaves = own;
    first = false;
  }
  return !first;
}

Written write_flat(const Subject& subject, const std::vector<Loop>& loops, int64_t block,
                   int warps) {
  KernelText kernel("pointwise");
  kernel.describe(subject.operators + ", element by element.");
  const std::string n = kernel.size("n_elements", total_text(subject.graph, loops));
  kernel.constexpr_parameter("BLOCK", std::to_string(block));
  const std::string offsets = kernel.unique("offsets"), mask = kernel.unique("mask");
  const char* wide = subject.table.needs_int64() ? ".to(tl.int64)" : "";
  kernel.line(offsets + " = tl.program_id(0)" + wide + " * BLOCK + tl.arange(0, BLOCK)");
  kernel.line(mask + " = " + offsets + " < " + n);
  Body body(subject.graph, subject.table, subject.program, kernel);
  body.set_mask(0, mask);
  body.unit_index = offsets;
  const bool all_contiguous =
      std::ranges::all_of(subject.table.accesses, [&](const Access& access) {
        return access.strides.empty() || walks_contiguously(access, loops);
      });
  body.bind_contiguous(loops, {offsets, 1});
  if (!all_contiguous) body.bind_flat(loops, {offsets, 1}, "i");
  for (size_t i = 0; i < subject.graph.outputs.size(); ++i) body.store(static_cast<int>(i));
  kernel.launch({host_cdiv(n, block)}, warps, 0);
  return {{std::move(kernel)}, {}};
}

Written write_tile(const Subject& subject, const std::vector<Loop>& rows,
                   const std::vector<Loop>& cols, int64_t block_m, int64_t block_n, int warps) {
  KernelText kernel("pointwise");
  kernel.describe(subject.operators + ", by tiles.");
  const std::string n_rows = kernel.size("n_rows", total_text(subject.graph, rows));
  const std::string n_cols = kernel.size("n_cols", total_text(subject.graph, cols));
  kernel.constexpr_parameter("BLOCK_M", std::to_string(block_m));
  kernel.constexpr_parameter("BLOCK_N", std::to_string(block_n));
  const char* wide = subject.table.needs_int64() ? ".to(tl.int64)" : "";
  for (const char* name : {"rows", "cols", "row_mask", "col_mask"}) kernel.unique(name);
  kernel.line(std::string("rows = (tl.program_id(0)") + wide +
              " * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]");
  kernel.line(std::string("cols = (tl.program_id(1)") + wide +
              " * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]");
  kernel.line("row_mask = rows < " + n_rows);
  kernel.line("col_mask = cols < " + n_cols);
  Body body(subject.graph, subject.table, subject.program, kernel);
  body.set_mask(0, "row_mask");
  body.set_mask(1, "col_mask");
  body.unit_index = "rows";
  body.bind_flat(rows, {"rows", 1}, "row");
  body.bind_flat(cols, {"cols", 2}, "col");
  for (size_t i = 0; i < subject.graph.outputs.size(); ++i) body.store(static_cast<int>(i));
  kernel.launch({host_cdiv(n_rows, block_m), host_cdiv(n_cols, block_n)}, warps, 0);
  return {{std::move(kernel)}, {}};
}

// Returns whether neighbouring results read places apart, or runs that start anywhere, as windows
// do. A thread that holds several neighbours for one wide store then loads them one by one, and
// each load of a warp touches as many more sectors. On an H200, pooling with four elements a thread
// took up to 1.8 times as long as with one or two (bench/h200/families.json). An enlarged image
// reads some elements for several results.
bool reads_apart(const Subject& subject, const Loop& inner, int64_t results) {
  constexpr int64_t kVector = 4;
  const Axes windows = window_axes(subject.graph);
  for (const Access& access : subject.table.accesses) {
    const LeafStride* s = likely_stride(access, inner);
    if (access.kind != Access::Kind::kLoad || !s) continue;
    const Node& node = subject.graph.nodes[access.id];
    if (!set_intersection(node.varies, windows).empty()) return true;
    const Value& value = subject.program.values[subject.program.inputs[node.input]];
    if (std::abs(s->stride) > 1) {
      if (std::abs(s->stride) <= kVector) return true;
      continue;
    }
    int64_t offset = 0;
    for (const OffsetTerm& term : node.offset) {
      offset += term.index * stride_value(subject.graph, term.stride, value.strides);
    }
    const bool gathered = access.find(inner.axes.back()) == nullptr;
    if (offset % kVector != 0 || (gathered && value.numel() >= results)) return true;
  }
  return false;
}

void add_flat(const Subject& subject, const std::vector<Loop>& loops, std::vector<Choice>& out) {
  const int64_t n = total_size(loops);
  const double bytes = moved_bytes(subject, {loops.end() - (loops.empty() ? 0 : 1), loops.end()});
  const double flops = scalar_flops(subject) / scalar_rate(subject);
  const bool apart = !loops.empty() && reads_apart(subject, loops.back(), n);
  constexpr std::pair<int64_t, int> kBlocks[] = {{256, 8},  {256, 4},  {512, 8},  {256, 2},
                                                 {512, 4},  {1024, 4}, {1024, 8}, {2048, 4},
                                                 {2048, 8}, {4096, 8}, {8192, 8}};
  for (auto [block, warps] : kBlocks) {
    if (block > std::max<int64_t>(256, next_power_of_2(n))) continue;
    const int64_t programs = cdiv(n, block);
    if (programs >= int64_t{1} << 31) continue;
    const int64_t per_thread = block / (32 * warps);
    double penalty = per_thread < 4 ? 1.2 : per_thread > 16 ? 1.08 : 1.0;
    if (apart) penalty = per_thread < 4 ? 1.0 : 1.2;
    if (loops.size() > 1) penalty *= 1.06;  // divisions
    const double seconds = penalty * model_seconds(subject, bytes, flops, programs, warps,
                                                   bytes / static_cast<double>(programs));
    out.push_back({"pointwise", "flat, BLOCK=" + std::to_string(block), warps, 0, seconds, programs,
                   [=, &subject] { return write_flat(subject, loops, block, warps); }});
  }
}

void add_tiles(const Subject& subject, const std::vector<Loop>& loops, std::vector<Choice>& out) {
  // Columns are the innermost loop of the largest access. Rows end in a loop that some other access
  // walks with unit stride, so that both sides of a transposition are coalesced.
  const std::vector<Loop> cols = {loops.back()};
  std::vector<Loop> rows(loops.begin(), loops.end() - 1);
  bool transposed = false;
  for (const Access& access : subject.table.accesses) {
    const LeafStride* inner = likely_stride(access, cols[0]);
    if (transposed || (inner && inner->stride == 1)) continue;
    for (size_t i = 0; i < rows.size() && !transposed; ++i) {
      const LeafStride* s = likely_stride(access, rows[i]);
      if (!s || s->stride != 1 || access.kind == Access::Kind::kIndex) continue;
      std::rotate(rows.begin() + i, rows.begin() + i + 1, rows.end());
      transposed = true;
    }
  }
  std::vector<Loop> inner = cols;
  if (transposed) inner.push_back(rows.back());
  const double bytes = moved_bytes(subject, inner);
  const double flops = scalar_flops(subject) / scalar_rate(subject);
  const int64_t n_rows = total_size(rows), n_cols = total_size(cols);
  const bool apart = reads_apart(subject, loops.back(), n_rows * n_cols);
  for (int64_t block_n : {16, 32, 64, 128, 256, 512, 1024, 2048}) {
    for (int64_t block_m : {1, 2, 4, 8, 16, 32, 64, 128}) {
      const int64_t tile = block_m * block_n;
      if (tile < 512 || tile > 8192 || block_n > next_power_of_2(n_cols) ||
          block_m > next_power_of_2(n_rows))
        continue;
      if (transposed && (block_m < 16 || block_n < 16)) continue;
      const int64_t row_programs = cdiv(n_rows, block_m), col_programs = cdiv(n_cols, block_n);
      if (col_programs > 65535 || row_programs >= int64_t{1} << 31) continue;
      const int64_t programs = row_programs * col_programs;
      const int warps = tile <= 1024 ? 4 : 8;
      const double padding =
          static_cast<double>(programs * tile) / static_cast<double>(n_rows * n_cols);
      double penalty = (1.0 + 0.15 * (padding - 1.0)) * (tile > 4096 ? 1.05 : 1.0);
      if (apart) penalty *= 1.2;  // four elements a thread at least
      // Without a transposition long runs of columns are best.
      const int64_t run = std::min<int64_t>(512, next_power_of_2(n_cols));
      if (!transposed && block_n < run) penalty *= 1.0 + 0.02 * std::log2(run / block_n);
      const double seconds = penalty * model_seconds(subject, bytes, flops * padding, programs,
                                                     warps, bytes / static_cast<double>(programs));
      out.push_back(
          {"pointwise",
           "tiles, BLOCK_M=" + std::to_string(block_m) + " BLOCK_N=" + std::to_string(block_n),
           warps, 0, seconds, programs,
           [=, &subject] { return write_tile(subject, rows, cols, block_m, block_n, warps); }});
    }
  }
}

// Returns whether some access is contiguous along another loop than the innermost.
bool walks_apart(const Subject& subject, const std::vector<Loop>& loops) {
  for (const Access& access : subject.table.accesses) {
    for (size_t i = 0; i + 1 < loops.size(); ++i) {
      const LeafStride* s = likely_stride(access, loops[i]);
      if (s && s->stride == 1 && loops[i].size > 1) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<Choice> pointwise_choices(const Subject& subject) {
  for (const Node& node : subject.graph.nodes) {
    const NodeKind kind = node.kind;
    if (kind == NodeKind::kReduce || kind == NodeKind::kMatmul || kind == NodeKind::kScan ||
        kind == NodeKind::kConvolution) {
      return {};
    }
  }
  Axes leaves;
  if (!all_outputs_cover(subject, &leaves)) return {};
  const std::vector<Loop> loops = merged_loops(subject.graph, subject.table, leaves);
  std::vector<Choice> out;
  add_flat(subject, loops, out);
  if (loops.size() > 1) add_tiles(subject, loops, out);
  const int64_t inner = loops.empty() ? 1 : loops.back().size;
  return in_class(std::move(out), access_class(subject) +
                                      " outer=" + size_class(total_size(loops) / inner) +
                                      " inner=" + size_class(inner) +
                                      (walks_apart(subject, loops) ? " transposed" : ""));
}

}  // namespace kw::teacher
