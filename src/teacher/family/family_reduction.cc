// Reductions, scans and normalisations: kept loops by reduced loops.
//
//   persistent  A program holds whole rows in registers, and each value is loaded once.
//   looped      Rows are walked in blocks: once for each level of reductions that depend on one
//               another, and once more to write results of full size. Scans are carried along.
//   online      A looped softmax that finds maximum and sum of exponentials in one walk, for rows
//               too long to be held. Rows that fit registers are written as persistent.
//   split       For few long rows, each program takes a part of a row (split_rows.cc).
#include <algorithm>
#include <cmath>
#include <memory>

#include "teacher/family/row_kernel.h"

namespace kw::teacher {
namespace {

Written write_persistent(const Subject& subject, const RowLoops& rows, const Tile& tile) {
  RowKernel k(subject, rows, "whole rows in registers.");
  k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  k.kernel_.constexpr_parameter("BLOCK_N", "triton.next_power_of_2(" + k.n_cols_ + ")");
  k.open_rows("tl.program_id(0)");
  k.hold_rows();
  for (size_t i = 0; i < subject.graph.outputs.size(); ++i) k.body_.store(static_cast<int>(i));
  k.kernel_.launch({host_cdiv(k.n_rows_, tile.m)}, tile.warps, 0);
  return {{std::move(k.kernel_)}, {}};
}

Written write_looped(const Subject& subject, const RowLoops& rows, const Tile& tile) {
  RowKernel k(subject, rows, "rows walked in blocks.");
  k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  k.kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
  k.open_rows("tl.program_id(0)");
  for (int level = 1; level <= rows.levels; ++level) {
    const std::vector<int> nodes = k.reductions(level);
    const std::vector<std::string> values = k.finish(nodes, k.accumulate(nodes, "0", k.n_cols_));
    for (size_t i = 0; i < nodes.size(); ++i) k.body_.assign(nodes[i], values[i]);
  }
  k.store_results("0", k.n_cols_);
  k.kernel_.launch({host_cdiv(k.n_rows_, tile.m)}, tile.warps, 0);
  return {{std::move(k.kernel_)}, {}};
}

// Maximum m of x and sum s of exp(x - m), the only reductions of a graph.
struct OnlinePair {
  int max = -1, sum = -1;
};

OnlinePair online_pair(const Graph& graph, const RowLoops& rows) {
  OnlinePair pair;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != NodeKind::kReduce) continue;
    int& place = rows.level[i] == 1 ? pair.max : pair.sum;
    if (place >= 0 || rows.levels != 2) return {};
    place = static_cast<int>(i);
  }
  if (pair.max < 0 || pair.sum < 0) return {};
  const Node &max = graph.nodes[pair.max], &sum = graph.nodes[pair.sum];
  const Node& exp = graph.nodes[sum.operands[0]];
  if (max.reduce != ReduceOp::kMax || sum.reduce != ReduceOp::kSum || !is_floating(max.dtype) ||
      !is_exponential(exp) || rows.scans > 0) {
    return {};
  }
  const Node& shifted = graph.nodes[exp.operands[0]];
  const std::vector<int> expected = {max.operands[0], pair.max};
  if (shifted.expression != "{0} - {1}" || shifted.operands != expected) return {};
  return pair;
}

// The running maximum starts at the lowest finite number, so that a difference of two is never NaN.
Written write_online(const Subject& subject, const RowLoops& rows, const Tile& tile) {
  const Graph& graph = subject.graph;
  const OnlinePair pair = online_pair(graph, rows);
  RowKernel k(subject, rows, "rows walked in blocks, maximum and sum at once.");
  k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  k.kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
  k.open_rows("tl.program_id(0)");
  const Node& max = graph.nodes[pair.max];
  const std::string top = k.kernel_.unique(max.name),
                    sum = k.kernel_.unique(graph.nodes[pair.sum].name);
  const std::string block = k.kernel_.unique("block"), next = k.kernel_.unique("next_max");
  const bool wide = max.dtype == DType::kFloat64;
  const std::string type(triton_name(max.dtype));
  k.kernel_.line(top + " = tl.full((BLOCK_M, 1), " +
                 (wide ? "-1.7976931348623157e308" : "-3.4028234663852886e38") + ", " + type + ")");
  k.kernel_.line(sum + " = tl.zeros((BLOCK_M, 1), " + type + ")");
  k.open_walk({max.operands[0]}, "0", k.n_cols_);
  k.kernel_.line(block + " = " + k.masked(pair.max));
  k.kernel_.line(next + " = tl.maximum(" + top + ", tl.max(" + block +
                 ", axis=1, keep_dims=True))");
  k.kernel_.line(sum + " = " + sum + " * tl.exp(" + top + " - " + next + ") + tl.sum(tl.exp(" +
                 block + " - " + next + "), axis=1, keep_dims=True)");
  k.kernel_.line(top + " = " + next);
  k.close_walk();
  k.body_.assign(pair.max, top);
  k.body_.assign(pair.sum, sum);
  k.store_results("0", k.n_cols_);
  k.kernel_.launch({host_cdiv(k.n_rows_, tile.m)}, tile.warps, 0);
  return {{std::move(k.kernel_)}, {}};
}

// ---- Schedules

std::string tiling(const char* structure, const Tile& tile) {
  return std::string(structure) + ", BLOCK_M=" + std::to_string(tile.m) +
         " BLOCK_N=" + std::to_string(tile.n);
}

// Loops whose neighbours a tile loads together.
std::vector<Loop> tile_loops(const RowLoops& rows, const Tile& tile) {
  std::vector<Loop> out = {rows.cols.back()};
  if (tile.m >= 8 && !rows.rows.empty()) out.push_back(rows.rows.back());
  if (tile.n < 8 && rows.cols.back().size >= 8) out.erase(out.begin());
  return out;
}

double flop_seconds(const Subject& subject, const RowLoops& rows, const Tile& tile, int64_t cols) {
  const double padding = static_cast<double>(cdiv(cols, tile.n) * tile.n) /
                         static_cast<double>(cols) *
                         static_cast<double>(cdiv(total_size(rows.rows), tile.m) * tile.m) /
                         static_cast<double>(total_size(rows.rows));
  return padding * scalar_flops(subject) / scalar_rate(subject);
}

void add_persistent(const Subject& subject, const std::shared_ptr<RowLoops>& rows,
                    std::vector<Choice>& out) {
  const int64_t n_rows = total_size(rows->rows), n_cols = total_size(rows->cols);
  const int64_t padded = next_power_of_2(n_cols);
  for (int64_t m = 1; m <= 128; m *= 2) {
    const int64_t elements = m * padded;
    if (elements > 32768 || m > next_power_of_2(n_rows)) break;
    for (int warps : {1, 2, 4, 8, 16, 32}) {
      const int64_t per_thread = elements / (32 * warps);
      const int64_t registers =
          std::min<int64_t>(160, subject.profile.registers_per_sm / (32 * warps));
      if (per_thread * rows->live_tiles > registers * 6 / 10) continue;  // of a thread
      if (per_thread < 2 && warps > 1) continue;
      const Tile tile{m, padded, warps};
      const int64_t programs = cdiv(n_rows, m);
      const double bytes = moved_bytes(subject, tile_loops(*rows, tile));
      double penalty = per_thread < 4                       ? 1.08
                       : per_thread * rows->live_tiles > 64 ? 1.1
                       : per_thread * rows->live_tiles > 32 ? 1.05
                                                            : 1.0;
      // A reduction inside a warp is cheap, across warps it needs shared memory and barriers.
      if (warps > 4 && elements < 4096) penalty *= 1.05;
      if (warps > 8) penalty *= warps > 16 ? 1.12 : 1.05;
      const double seconds =
          penalty * model_seconds(subject, bytes, flop_seconds(subject, *rows, tile, n_cols),
                                  programs, warps, bytes / static_cast<double>(programs));
      out.push_back({"reduction", tiling("persistent", tile), warps, 0, seconds, programs,
                     [=, &subject] { return write_persistent(subject, *rows, tile); }});
    }
  }
}

// Blocks of a scan follow one another: each waits for its loads and for the tree over its columns.
double carried_seconds(const Subject& subject, const RowLoops& rows, const Tile& tile, int64_t cols,
                       int64_t programs) {
  constexpr double kStep = 1.2e-6;
  const double resident = subject.profile.sms * std::clamp(48.0 / tile.warps, 1.0, 16.0);
  const double waves = std::ceil(static_cast<double>(programs) / resident);
  return rows.scans * waves * static_cast<double>(cdiv(cols, tile.n)) * kStep;
}

// `once` is what a walk over all moves, of which later walks move the share `again`.
void add_split(const Subject& subject, const std::shared_ptr<RowLoops>& rows, const Tile& tile,
               double once, double again, double flops, std::vector<Choice>& out) {
  const int64_t n_rows = total_size(rows->rows), n_cols = total_size(rows->cols);
  const int64_t programs = cdiv(n_rows, tile.m);
  double stored = 0;
  for (const Access& access : subject.table.accesses) {
    if (access.kind == Access::Kind::kStore) stored += static_cast<double>(access.bytes);
  }
  const double reads = once * (1 - stored / static_cast<double>(subject.table.bytes()));
  const double in_flight = static_cast<double>(tile.m * tile.n) * 8;
  for (int64_t splits : {8, 32, 64, 128, 256, 512, 1024}) {
    if (splits * tile.n > n_cols || programs * splits > 16 * subject.profile.sms) continue;
    if (tile.m * splits > 8192) continue;  // partial results in registers
    const double carried =
        carried_seconds(subject, *rows, tile, cdiv(n_cols, splits), programs * splits);
    auto walk = [&](double bytes) {
      return std::max(
          carried, model_seconds(subject, bytes, flops, programs * splits, tile.warps, in_flight));
    };
    const double partial = static_cast<double>(n_rows * splits) * 8;
    double seconds = walk(reads) + (rows->stages - 1) * walk(reads * again);
    seconds += rows->full_outputs.empty()
                   ? subject.profile.launch_seconds + partial / subject.profile.bytes_per_second
                   : walk(reads * again + stored + partial);
    out.push_back({"reduction", tiling("split", tile) + " SPLITS=" + std::to_string(splits),
                   tile.warps, 0, seconds, programs * splits,
                   [=, &subject] { return write_split(subject, *rows, tile, splits); }});
  }
}

void add_looped(const Subject& subject, const std::shared_ptr<RowLoops>& rows,
                std::vector<Choice>& out) {
  const int64_t n_rows = total_size(rows->rows), n_cols = total_size(rows->cols);
  const bool online = online_pair(subject.graph, *rows).max >= 0;
  const int passes = rows->levels + (rows->full_outputs.empty() ? 0 : 1);
  for (int64_t n : {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}) {
    if (n >= 2 * n_cols) break;
    for (int64_t m : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
      const int64_t elements = m * n;
      if (elements < 512 || elements > 8192 || m > next_power_of_2(n_rows)) continue;
      if (rows->rows_inner ? (m < 32 && m < n_rows) : n < 128) continue;
      const int warps = elements <= 1024 ? 4 : elements <= 4096 ? 8 : 16;
      const Tile tile{m, n, warps};
      const int64_t programs = cdiv(n_rows, m);
      const double once = moved_bytes(subject, tile_loops(*rows, tile));
      // Later passes find the rows in L2 when those that are being worked on fit there.
      const double row_bytes =
          static_cast<double>(subject.table.bytes()) / static_cast<double>(n_rows);
      const double resident = static_cast<double>(
          std::min<int64_t>(programs, subject.profile.sms * std::max(1, 48 / warps)) * m);
      const bool cached =
          resident * row_bytes < 0.5 * static_cast<double>(subject.profile.l2_bytes);
      const double again = once * (cached ? 0.3 : 0.8);  // of each pass after the first
      const double flops = flop_seconds(subject, *rows, tile, n_cols);
      const double in_flight = static_cast<double>(elements) * 8;
      // Each step of a walk waits for its loads: few long steps are best.
      const int64_t run = std::min<int64_t>(2048, next_power_of_2(n_cols));
      const double short_steps =
          rows->rows_inner || n >= run ? 1.0 : 1.0 + 0.03 * std::log2(static_cast<double>(run / n));
      auto seconds = [&](int walks) {
        const double moved = model_seconds(subject, once + again * (walks - 1), flops * walks,
                                           programs, warps, in_flight);
        return std::max(short_steps * moved,
                        walks * carried_seconds(subject, *rows, tile, n_cols, programs));
      };
      out.push_back({"reduction", tiling("looped", tile), warps, 0, seconds(passes), programs,
                     [=, &subject] { return write_looped(subject, *rows, tile); }});
      if (online) {
        out.push_back({"reduction", tiling("online", tile), warps, 0, seconds(passes - 1), programs,
                       [=, &subject] { return write_online(subject, *rows, tile); }});
      }
      if (programs < 4 * subject.profile.sms) {
        add_split(subject, rows, tile, once, cached ? 0.3 : 0.8, flops, out);
      }
    }
  }
}

std::string row_class(const Subject& subject, const RowLoops& rows) {
  std::string out = access_class(subject) + " rows=" + size_class(total_size(rows.rows)) +
                    " cols=" + size_class(total_size(rows.cols)) +
                    " levels=" + std::to_string(rows.levels);
  if (rows.scans > 0) out += " scans=" + std::to_string(rows.scans);
  if (!rows.full_outputs.empty()) out += " full";
  if (rows.rows_inner) out += " transposed";
  return out;
}

}  // namespace

std::vector<Choice> reduction_choices(const Subject& subject) {
  auto rows = std::make_shared<RowLoops>();
  if (!analyse_rows(subject, rows.get())) return {};
  if (total_size(rows->rows) >= int64_t{1} << 31) return {};
  std::vector<Choice> out;
  add_persistent(subject, rows, out);
  add_looped(subject, rows, out);
  return in_class(std::move(out), row_class(subject, *rows));
}

}  // namespace kw::teacher
