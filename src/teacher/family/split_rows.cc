// The schedule for few long rows, in which each program takes a part of a row.
//
// Reductions and scans that depend on one another follow in stages. For each stage a kernel finds
// the total over each part. Every later kernel joins those totals: over all parts for a reduction,
// over the earlier parts for a scan. A last kernel writes the results.
#include <algorithm>
#include <map>
#include <set>

#include "teacher/family/row_kernel.h"

namespace kw::teacher {
namespace {

class SplitRows {
 public:
  SplitRows(const Subject& subject, const RowLoops& rows, const Tile& tile, int64_t splits)
      : subject_(subject), rows_(rows), graph_(subject.graph), tile_(tile), splits_(splits) {}

  Written write() {
    for (int stage = 1; stage <= rows_.stages; ++stage) write_totals(stage);
    if (rows_.full_outputs.empty()) {
      write_kept();
    } else {
      write_full();
    }
    return std::move(out_);
  }

 private:
  bool has_total(int id) const {
    const NodeKind kind = graph_.nodes[id].kind;
    return kind == NodeKind::kReduce || kind == NodeKind::kScan;
  }

  std::vector<int> nodes_of(int stage) const {
    std::vector<int> out;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int id = static_cast<int>(i);
      if (has_total(id) && rows_.stage[i] == stage) out.push_back(id);
    }
    return out;
  }

  // Totals that the values of `roots` are made of.
  void find_totals(int id, std::set<int>& out) const {
    const Node& node = graph_.nodes[id];
    if (has_total(id)) out.insert(id);
    if (const int partner = rows_.found_with(id); partner >= 0) out.insert(partner);
    if (node.kind == NodeKind::kReduce) return;
    for (int operand : node.operands) find_totals(operand, out);
  }

  void open(RowKernel& k, int64_t block_m, bool parts) {
    k.kernel_.constexpr_parameter("BLOCK_M", std::to_string(block_m));
    if (parts || !rows_.moments.empty()) {
      k.kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile_.n));
    }
    k.kernel_.constexpr_parameter("SPLITS", std::to_string(splits_));
    for (const char* name : {"part", "part_size", "first", "last", "parts", "part_mask"}) {
      k.kernel_.unique(name);
    }
    k.open_rows("tl.program_id(0)");
    if (parts || !rows_.moments.empty()) {
      k.kernel_.line("part_size = tl.cdiv(tl.cdiv(" + k.n_cols_ + ", SPLITS), BLOCK_N) * BLOCK_N");
    }
    if (!parts) return;
    k.kernel_.line("part = tl.program_id(1)" + k.wide_);
    k.kernel_.line("first = part * part_size");
    k.kernel_.line("last = tl.minimum(first + part_size, " + k.n_cols_ + ")");
  }

  std::string total_tile(RowKernel& k, int id, const std::string& mask) {
    const std::string name = totals_.at(id);
    k.kernel_.pointer(name + "_ptr", name);
    return "tl.load(" + name + "_ptr + parts * " + k.n_rows_ + " + rows, mask=row_mask & " + mask +
           ", other=" + neutral(graph_.nodes[id]) + ")";
  }

  void join(RowKernel& k, const std::set<int>& ids) {
    if (ids.empty()) return;
    k.kernel_.constexpr_parameter("BLOCK_S", std::to_string(next_power_of_2(splits_)));
    k.kernel_.line("parts = tl.arange(0, BLOCK_S)[None, :]");
    k.kernel_.line("part_mask = parts < SPLITS");
    std::set<int> means;
    for (int id : ids) {
      auto pair = rows_.moments.find(id);
      if (pair == rows_.moments.end()) continue;
      if (means.empty()) {
        const std::string lanes = k.kernel_.unique("part_lanes");
        k.kernel_.line(lanes + " = tl.minimum(tl.maximum(" + k.n_cols_ +
                       " - parts * part_size, 0), part_size).to(" +
                       std::string(triton_name(graph_.nodes[id].dtype)) + ")");
        k.count_lanes(lanes);
      }
      means.insert(pair->second);
    }
    std::vector<int> reduced;
    std::vector<std::string> tiles;
    for (int id : ids) {
      const Node& node = graph_.nodes[id];
      if (node.kind == NodeKind::kReduce) {
        reduced.push_back(id);
        tiles.push_back(k.kernel_.unique(node.name + "_parts"));
        k.kernel_.line(tiles.back() + " = " + total_tile(k, id, "part_mask"));
        if (means.count(id)) {
          k.kernel_.line(tiles.back() + " = " + tiles.back() + " / tl.maximum(" + k.lanes() +
                         ", 1.0)");
        }
        continue;
      }
      const std::string start = k.kernel_.unique(node.name + "_start");
      k.kernel_.line(start + " = " +
                     reduced_tile(node, total_tile(k, id, "(parts < part)"), k.kernel_));
      k.start_scan(id, start);
    }
    const std::vector<std::string> values = k.finish(reduced, tiles);
    for (size_t i = 0; i < reduced.size(); ++i) k.body_.assign(reduced[i], values[i]);
  }

  void write_totals(int stage) {
    const std::vector<int> nodes = nodes_of(stage);
    RowKernel k(subject_, rows_, "totals of the parts of each row.");
    open(k, tile_.m, true);
    std::set<int> before;
    for (int id : nodes) {
      if (rows_.found_with(id) < 0) find_totals(graph_.nodes[id].operands[0], before);
    }
    join(k, before);
    const std::vector<std::string> values = k.finish(nodes, k.accumulate(nodes, "first", "last"));
    for (size_t i = 0; i < nodes.size(); ++i) {
      const std::string name = "partial" + std::to_string(totals_.size());
      totals_[nodes[i]] = name;
      k.kernel_.pointer(name + "_ptr", name);
      k.kernel_.line("tl.store(" + name + "_ptr + part * " + k.n_rows_ + " + rows, " + values[i] +
                     ", mask=row_mask)");
      out_.scratch.push_back({name, std::to_string(splits_) + ", " + k.n_rows_,
                              "torch." + std::string(dtype_name(graph_.nodes[nodes[i]].dtype))});
    }
    finish(k, tile_.m, true);
  }

  void finish(RowKernel& k, int64_t block_m, bool parts) {
    std::vector<std::string> grid = {host_cdiv(k.n_rows_, block_m)};
    if (parts) grid.push_back(std::to_string(splits_));
    k.kernel_.launch(std::move(grid), parts ? tile_.warps : 4, 0);
    out_.kernels.push_back(std::move(k.kernel_));
  }

  void write_kept() {
    RowKernel k(subject_, rows_, "joins the totals of the parts.");
    const int64_t block_m = std::min<int64_t>(next_power_of_2(total_size(rows_.rows)),
                                              std::clamp<int64_t>(4096 / splits_, 1, 16));
    open(k, block_m, false);
    std::set<int> needed;
    for (const Output& output : graph_.outputs) find_totals(output.node, needed);
    join(k, needed);
    for (int output : rows_.kept_outputs) k.body_.store(output);
    finish(k, block_m, false);
  }

  // Every part of a row writes the row's results of reduced size: they are equal.
  void write_full() {
    RowKernel k(subject_, rows_, "results, a part of each row a program.");
    open(k, tile_.m, true);
    k.body_.repeated = {.along = 2, .condition = "(part == 0)"};  // columns
    std::set<int> needed;
    for (const Output& output : graph_.outputs) find_totals(output.node, needed);
    join(k, needed);
    k.store_results("first", "last");
    finish(k, tile_.m, true);
  }

  const Subject& subject_;
  const RowLoops& rows_;
  const Graph& graph_;
  const Tile tile_;
  const int64_t splits_;
  std::map<int, std::string> totals_;  // node -> scratch tensor
  Written out_;
};

}  // namespace

Written write_split(const Subject& subject, const RowLoops& rows, const Tile& tile,
                    int64_t splits) {
  return SplitRows(subject, rows, tile, splits).write();
}

}  // namespace kw::teacher
