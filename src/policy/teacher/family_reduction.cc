// Reductions and normalisations: kept loops by reduced loops, every reduction over the same ones.
//
//   persistent  a program holds whole rows in registers; each value is loaded once
//   looped      rows are walked in blocks, once for each level of reductions that depend on one
//               another and once more to write results of full size
//   online      the same for softmax, with maximum and sum of exponentials found in one walk
//   split       for few long rows: programs reduce a part of a row each, a second kernel joins the
//               parts and finishes (one level of reductions, results of reduced size)
#include <algorithm>
#include <cmath>
#include <memory>

#include "policy/teacher/body.h"
#include "policy/teacher/family.h"

namespace kw::teacher {
namespace {

struct Rows {
  Axes kept, reduced;
  std::vector<Loop> rows, cols;
  std::vector<int> level;  // of reduce nodes: 1 + the deepest reduction below them; else that
  int levels = 0;
  std::vector<int> full_outputs, kept_outputs;
  bool rows_inner = false;  // memory is contiguous along rows rather than along columns
  int live_tiles = 1;       // full-size values alive at once, roughly
};

bool varies_with_any(const Node& node, const Axes& axes) {
  return !set_intersection(node.varies, axes).empty();
}

// Fills `out`; false when the graph is not of this family.
bool analyse(const Subject& subject, Rows* out) {
  const Graph& graph = subject.graph;
  Axes all;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kMatmul) return false;
    all = set_union(all, node.varies);
    if (node.kind != NodeKind::kReduce) continue;
    const Axes axes = sorted(node.axes);
    if (!out->reduced.empty() && axes != out->reduced) return false;
    out->reduced = axes;
  }
  if (out->reduced.empty()) return false;
  std::vector<Axes> outputs;
  for (const Output& output : graph.outputs) {
    Axes own = graph.nodes[output.node].varies;
    for (const Piece& piece : output.pieces) own = set_union(own, graph.axes.leaves(piece.axis));
    all = set_union(all, own);
    outputs.push_back(own);
  }
  all = set_union(all, out->reduced);
  out->kept = set_minus(all, out->reduced);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == all) {
      out->full_outputs.push_back(static_cast<int>(i));
    } else if (outputs[i] == out->kept) {
      out->kept_outputs.push_back(static_cast<int>(i));
    } else {
      return false;
    }
  }
  out->level.assign(graph.nodes.size(), 0);
  int full_loads = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (int operand : node.operands) out->level[i] = std::max(out->level[i], out->level[operand]);
    if (node.kind == NodeKind::kReduce) out->levels = std::max(out->levels, ++out->level[i]);
    full_loads += node.kind == NodeKind::kLoad && varies_with_any(node, out->reduced) &&
                  varies_with_any(node, out->kept);
  }
  out->live_tiles = 1 + full_loads;
  out->rows = merged_loops(graph, subject.table, out->kept);
  out->cols = merged_loops(graph, subject.table, out->reduced);
  if (!out->rows.empty()) {
    for (const Access& access : subject.table.accesses) {
      const LeafStride* row = loop_stride(access, out->rows.back());
      const LeafStride* col = loop_stride(access, out->cols.back());
      if (!row || !col) continue;
      out->rows_inner = row->stride < col->stride;
      break;
    }
  }
  return true;
}

std::string neutral(const Node& node) {
  switch (node.reduce) {
    case ReduceOp::kSum:
      return is_floating(node.dtype) ? "0.0" : "0";
    case ReduceOp::kProd:
      return is_floating(node.dtype) ? "1.0" : "1";
    default:
      break;
  }
  const bool max = node.reduce == ReduceOp::kMax;
  if (is_floating(node.dtype)) return max ? "float(\"-inf\")" : "float(\"inf\")";
  if (node.dtype == DType::kInt64) {
    return max ? "-9223372036854775808" : "9223372036854775807";
  }
  return max ? "-2147483648" : "2147483647";
}

std::string combined(const Node& node, const std::string& a, const std::string& b) {
  switch (node.reduce) {
    case ReduceOp::kSum:
      return a + " + " + b;
    case ReduceOp::kProd:
      return a + " * " + b;
    case ReduceOp::kMax:
      return "tl.maximum(" + a + ", " + b + ")";
    case ReduceOp::kMin:
      return "tl.minimum(" + a + ", " + b + ")";
  }
  return "";
}

std::string reduced_tile(const Node& node, const std::string& tile) {
  switch (node.reduce) {
    case ReduceOp::kSum:
      return "tl.sum(" + tile + ", axis=1, keep_dims=True)";
    case ReduceOp::kMax:
      return "tl.max(" + tile + ", axis=1, keep_dims=True)";
    case ReduceOp::kMin:
      return "tl.min(" + tile + ", axis=1, keep_dims=True)";
    case ReduceOp::kProd:
      throw Refusal{"a product of a tile"};
  }
  return "";
}

bool has_products(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kReduce && node.reduce == ReduceOp::kProd) return true;
  }
  return false;
}

struct Tile {
  int64_t m = 1, n = 1;
  int warps = 4;
};

// One kernel of the family while it is written.
class RowKernel {
 public:
  RowKernel(const Subject& subject, const Rows& rows, const std::string& how)
      : subject_(subject),
        rows_(rows),
        graph_(subject.graph),
        kernel_("reduction"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    kernel_.describe(subject.operators + ": " + how);
    for (const char* name : {"rows", "cols", "row_mask", "col_mask", "start"}) kernel_.unique(name);
    n_rows_ = kernel_.size("n_rows", total_text(graph_, rows.rows));
    n_cols_ = kernel_.size("n_cols", total_text(graph_, rows.cols));
    wide_ = subject.table.needs_int64() ? ".to(tl.int64)" : "";
  }

  void open_rows(const std::string& program) {
    kernel_.line("rows = (" + program + wide_ + " * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]");
    kernel_.line("row_mask = rows < " + n_rows_);
    body_.set_mask(0, "row_mask");
    body_.unit_index = "rows";
    body_.bind_flat(rows_.rows, {"rows", 1}, "row");
  }

  void bind_columns(const std::string& first) {
    const std::string range = "tl.arange(0, BLOCK_N)" + wide_;
    kernel_.line("cols = " + (first.empty() ? range : "(" + first + " + " + range + ")") +
                 "[None, :]");
    kernel_.line("col_mask = cols < " + n_cols_);
    body_.set_mask(1, "col_mask");
    body_.bind_flat(rows_.cols, {"cols", 2}, "col");
  }

  std::string masked(int id) {
    const Node& node = graph_.nodes[id];
    return "tl.where(col_mask, " + body_.value(node.operands[0]) + ", " + neutral(node) + ")";
  }

  // Values that do not vary along columns are computed once, before the loop that needs them.
  void hoist(int id) {
    const Node& node = graph_.nodes[id];
    if (body_.known(id) || (node.kind == NodeKind::kPointwise && node.operands.empty())) return;
    if (!varies_with_any(node, rows_.reduced) && node.kind != NodeKind::kReduce) {
      body_.value(id);
      return;
    }
    for (int operand : node.operands) hoist(operand);
  }

  // Accumulates the reductions of one level over columns `first` to `last`; the accumulators' names
  // come back in the order of `nodes`.
  std::vector<std::string> accumulate(const std::vector<int>& nodes, const std::string& first,
                                      const std::string& last) {
    for (int id : nodes) hoist(graph_.nodes[id].operands[0]);
    std::vector<std::string> accumulators;
    for (int id : nodes) {
      const Node& node = graph_.nodes[id];
      accumulators.push_back(kernel_.unique(node.name + "_acc"));
      kernel_.line(accumulators.back() + " = tl.full((BLOCK_M, BLOCK_N), " + neutral(node) + ", " +
                   std::string(triton_name(node.dtype)) + ")");
    }
    open_loop(first, last);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = graph_.nodes[nodes[i]];
      kernel_.line(accumulators[i] + " = " + combined(node, accumulators[i], masked(nodes[i])));
    }
    close_loop();
    return accumulators;
  }

  void open_loop(const std::string& first, const std::string& last) {
    kernel_.open("for start in range(" + first + ", " + last + ", BLOCK_N):");
    body_.open_scope();
    bind_columns("start");
  }
  void close_loop() {
    body_.close_scope();
    kernel_.close();
  }

  // After the reductions: results of reduced size, then one walk for those of full size.
  void store_results() {
    for (int output : rows_.kept_outputs) body_.store(output);
    if (rows_.full_outputs.empty()) return;
    for (int output : rows_.full_outputs) hoist(graph_.outputs[output].node);
    open_loop("0", n_cols_);
    for (int output : rows_.full_outputs) body_.store(output);
    close_loop();
  }

  std::vector<int> reductions(int level) const {
    std::vector<int> out;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].kind == NodeKind::kReduce && rows_.level[i] == level) {
        out.push_back(static_cast<int>(i));
      }
    }
    return out;
  }

  const Subject& subject_;
  const Rows& rows_;
  const Graph& graph_;
  KernelText kernel_;
  Body body_;
  std::string n_rows_, n_cols_, wide_;
};

Written write_persistent(const Subject& subject, const Rows& rows, const Tile& tile) {
  RowKernel k(subject, rows, "whole rows in registers.");
  k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  k.kernel_.constexpr_parameter("BLOCK_N", "triton.next_power_of_2(" + k.n_cols_ + ")");
  k.open_rows("tl.program_id(0)");
  k.bind_columns("");
  k.body_.on_reduce = [&k](int id) { return reduced_tile(k.graph_.nodes[id], k.masked(id)); };
  for (size_t i = 0; i < subject.graph.outputs.size(); ++i) k.body_.store(static_cast<int>(i));
  k.kernel_.launch({host_cdiv(k.n_rows_, tile.m)}, tile.warps, 0);
  return {{std::move(k.kernel_)}, {}};
}

Written write_looped(const Subject& subject, const Rows& rows, const Tile& tile) {
  RowKernel k(subject, rows, "rows walked in blocks.");
  k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  k.kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
  k.open_rows("tl.program_id(0)");
  for (int level = 1; level <= rows.levels; ++level) {
    const std::vector<int> nodes = k.reductions(level);
    const std::vector<std::string> tiles = k.accumulate(nodes, "0", k.n_cols_);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const Node& node = subject.graph.nodes[nodes[i]];
      const std::string name = k.kernel_.unique(node.name);
      k.kernel_.line(name + " = " + reduced_tile(node, tiles[i]));
      k.body_.assign(nodes[i], name);
    }
  }
  k.store_results();
  k.kernel_.launch({host_cdiv(k.n_rows_, tile.m)}, tile.warps, 0);
  return {{std::move(k.kernel_)}, {}};
}

// Maximum m of x and sum s of exp(x - m), the only reductions of a graph.
struct OnlinePair {
  int max = -1, sum = -1;
};

OnlinePair online_pair(const Graph& graph, const Rows& rows) {
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
      exp.expression != "tl.exp({0})") {
    return {};
  }
  const Node& shifted = graph.nodes[exp.operands[0]];
  const std::vector<int> expected = {max.operands[0], pair.max};
  if (shifted.expression != "{0} - {1}" || shifted.operands != expected) return {};
  return pair;
}

// The running maximum starts at the lowest finite number, so that a difference of two is never NaN.
Written write_online(const Subject& subject, const Rows& rows, const Tile& tile) {
  const Graph& graph = subject.graph;
  const OnlinePair pair = online_pair(graph, rows);
  RowKernel k(subject, rows, "rows walked in blocks, maximum and sum at once.");
  k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  k.kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
  k.open_rows("tl.program_id(0)");
  const Node& max = graph.nodes[pair.max];
  k.hoist(max.operands[0]);
  const std::string top = k.kernel_.unique(max.name),
                    sum = k.kernel_.unique(graph.nodes[pair.sum].name);
  const std::string block = k.kernel_.unique("block"), next = k.kernel_.unique("next_max");
  const bool wide = max.dtype == DType::kFloat64;
  const std::string type(triton_name(max.dtype));
  k.kernel_.line(top + " = tl.full((BLOCK_M, 1), " +
                 (wide ? "-1.7976931348623157e308" : "-3.4028234663852886e38") + ", " + type + ")");
  k.kernel_.line(sum + " = tl.zeros((BLOCK_M, 1), " + type + ")");
  k.open_loop("0", k.n_cols_);
  k.kernel_.line(block + " = " + k.masked(pair.max));
  k.kernel_.line(next + " = tl.maximum(" + top + ", tl.max(" + block +
                 ", axis=1, keep_dims=True))");
  k.kernel_.line(sum + " = " + sum + " * tl.exp(" + top + " - " + next + ") + tl.sum(tl.exp(" +
                 block + " - " + next + "), axis=1, keep_dims=True)");
  k.kernel_.line(top + " = " + next);
  k.close_loop();
  k.body_.assign(pair.max, top);
  k.body_.assign(pair.sum, sum);
  k.store_results();
  k.kernel_.launch({host_cdiv(k.n_rows_, tile.m)}, tile.warps, 0);
  return {{std::move(k.kernel_)}, {}};
}

Written write_split(const Subject& subject, const Rows& rows, const Tile& tile, int64_t splits) {
  Written out;
  RowKernel part(subject, rows, "partial results, a part of each row a program.");
  const std::vector<int> nodes = part.reductions(1);
  part.kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  part.kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
  part.kernel_.constexpr_parameter("SPLITS", std::to_string(splits));
  for (const char* name : {"part", "part_size", "first", "last"}) part.kernel_.unique(name);
  part.open_rows("tl.program_id(0)");
  part.kernel_.line("part = tl.program_id(1)" + part.wide_);
  part.kernel_.line("part_size = tl.cdiv(tl.cdiv(" + part.n_cols_ +
                    ", SPLITS), BLOCK_N) * BLOCK_N");
  part.kernel_.line("first = part * part_size");
  part.kernel_.line("last = tl.minimum(first + part_size, " + part.n_cols_ + ")");
  const std::vector<std::string> tiles = part.accumulate(nodes, "first", "last");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = subject.graph.nodes[nodes[i]];
    const std::string name = "partial" + std::to_string(i);
    part.kernel_.pointer(name + "_ptr", name);
    part.kernel_.line("tl.store(" + name + "_ptr + part * " + part.n_rows_ + " + rows, " +
                      reduced_tile(node, tiles[i]) + ", mask=row_mask)");
    out.scratch.push_back({name, std::to_string(splits) + ", " + part.n_rows_,
                           "torch." + std::string(dtype_name(node.dtype))});
  }
  part.kernel_.launch({host_cdiv(part.n_rows_, tile.m), std::to_string(splits)}, tile.warps, 0);

  RowKernel join(subject, rows, "joins the partial results.");
  const int64_t join_rows = std::min<int64_t>(next_power_of_2(total_size(rows.rows)), 16);
  join.kernel_.constexpr_parameter("BLOCK_M", std::to_string(join_rows));
  join.kernel_.constexpr_parameter("SPLITS", std::to_string(splits));
  join.kernel_.constexpr_parameter("BLOCK_S", std::to_string(next_power_of_2(splits)));
  for (const char* name : {"parts", "part_mask"}) join.kernel_.unique(name);
  join.open_rows("tl.program_id(0)");
  join.kernel_.line("parts = tl.arange(0, BLOCK_S)[None, :]");
  join.kernel_.line("part_mask = parts < SPLITS");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = subject.graph.nodes[nodes[i]];
    const std::string pointer = "partial" + std::to_string(i) + "_ptr";
    join.kernel_.pointer(pointer, "partial" + std::to_string(i));
    const std::string name = join.kernel_.unique(node.name);
    join.kernel_.line(
        name + " = " +
        reduced_tile(node, "tl.load(" + pointer + " + parts * " + join.n_rows_ +
                               " + rows, mask=row_mask & part_mask, other=" + neutral(node) + ")"));
    join.body_.assign(nodes[i], name);
  }
  for (int output : rows.kept_outputs) join.body_.store(output);
  join.kernel_.launch({host_cdiv(join.n_rows_, join_rows)}, 4, 0);
  out.kernels.push_back(std::move(part.kernel_));
  out.kernels.push_back(std::move(join.kernel_));
  return out;
}

// ---- Schedules

std::string tiling(const char* structure, const Tile& tile) {
  return std::string(structure) + ", BLOCK_M=" + std::to_string(tile.m) +
         " BLOCK_N=" + std::to_string(tile.n);
}

// Loops whose neighbours a tile loads together.
std::vector<Loop> tile_loops(const Rows& rows, const Tile& tile) {
  std::vector<Loop> out = {rows.cols.back()};
  if (tile.m >= 8 && !rows.rows.empty()) out.push_back(rows.rows.back());
  if (tile.n < 8 && rows.cols.back().size >= 8) out.erase(out.begin());
  return out;
}

double flop_seconds(const Subject& subject, const Rows& rows, const Tile& tile, int64_t cols) {
  const double padding = static_cast<double>(cdiv(cols, tile.n) * tile.n) /
                         static_cast<double>(cols) *
                         static_cast<double>(cdiv(total_size(rows.rows), tile.m) * tile.m) /
                         static_cast<double>(total_size(rows.rows));
  return padding * scalar_flops(subject) / scalar_rate(subject);
}

void add_persistent(const Subject& subject, const std::shared_ptr<Rows>& rows,
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

void add_looped(const Subject& subject, const std::shared_ptr<Rows>& rows,
                std::vector<Choice>& out) {
  const int64_t n_rows = total_size(rows->rows), n_cols = total_size(rows->cols);
  const bool split_allowed = rows->levels == 1 && rows->full_outputs.empty();
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
        return short_steps * model_seconds(subject, once + again * (walks - 1), flops * walks,
                                           programs, warps, in_flight);
      };
      out.push_back({"reduction", tiling("looped", tile), warps, 0, seconds(passes), programs,
                     [=, &subject] { return write_looped(subject, *rows, tile); }});
      if (online) {
        out.push_back({"reduction", tiling("online", tile), warps, 0, seconds(passes - 1), programs,
                       [=, &subject] { return write_online(subject, *rows, tile); }});
      }
      if (!split_allowed || programs >= 4 * subject.profile.sms) continue;
      for (int64_t splits : {8, 32, 64, 128, 256, 512, 1024}) {
        if (splits * n > n_cols || programs * splits > 16 * subject.profile.sms) continue;
        const double parts =
            model_seconds(subject, once, flops, programs * splits, warps, in_flight);
        const double joined =
            subject.profile.launch_seconds +
            static_cast<double>(n_rows * splits) * 8 / subject.profile.bytes_per_second;
        out.push_back({"reduction", tiling("split", tile) + " SPLITS=" + std::to_string(splits),
                       warps, 0, parts + joined, programs * splits,
                       [=, &subject] { return write_split(subject, *rows, tile, splits); }});
      }
    }
  }
}

}  // namespace

std::vector<Choice> reduction_choices(const Subject& subject) {
  auto rows = std::make_shared<Rows>();
  if (!analyse(subject, rows.get()) || has_products(subject.graph)) return {};
  if (total_size(rows->rows) >= int64_t{1} << 31) return {};
  std::vector<Choice> out;
  add_persistent(subject, rows, out);
  add_looped(subject, rows, out);
  return out;
}

}  // namespace kw::teacher
