#include "teacher/family/row_kernel.h"

#include <algorithm>

namespace kw::teacher {
namespace {

bool varies_with_any(const Node& node, const Axes& axes) {
  return !set_intersection(node.varies, axes).empty();
}

}  // namespace

RowKernel::RowKernel(const Subject& subject, const RowLoops& rows, const std::string& how)
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

void RowKernel::open_rows(const std::string& program) {
  kernel_.line("rows = (" + program + wide_ + " * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]");
  kernel_.line("row_mask = rows < " + n_rows_);
  body_.set_mask(0, "row_mask");
  body_.unit_index = "rows";
  body_.bind_flat(rows_.rows, {"rows", 1}, "row");
}

void RowKernel::bind_columns(const std::string& first) {
  const std::string range = "tl.arange(0, BLOCK_N)" + wide_;
  kernel_.line("cols = " + (first.empty() ? range : "(" + first + " + " + range + ")") +
               "[None, :]");
  kernel_.line("col_mask = cols < " + n_cols_);
  body_.set_mask(1, "col_mask");
  body_.bind_flat(rows_.cols, {"cols", 2}, "col");
}

void RowKernel::hold_rows() {
  bind_columns("");
  body_.on_reduce = [this](int id) { return reduced_tile(graph_.nodes[id], masked(id), kernel_); };
  body_.on_scan = [this](int id) {
    const Node& node = graph_.nodes[id];
    const std::string tile = scan_operand(id), name = kernel_.unique(node.name);
    kernel_.line(name + " = " + scanned_tile(node, tile, kernel_));
    return name;
  };
}

std::string RowKernel::masked(int id) {
  const Node& node = graph_.nodes[id];
  const Node& operand = graph_.nodes[node.operands[0]];
  std::string value = body_.value(node.operands[0]);
  if (operand.kind == NodeKind::kPointwise && operand.operands.empty()) {  // a literal
    value = "tl.full((), " + value + ", " + std::string(triton_name(node.dtype)) + ")";
  }
  return "tl.where(col_mask, " + value + ", " + neutral(node) + ")";
}

std::string RowKernel::scan_operand(int id) {
  const int operand = graph_.nodes[id].operands[0];
  const Node& value = graph_.nodes[operand];
  const bool literal = value.kind == NodeKind::kPointwise && value.operands.empty();
  return !literal && varies_with_any(value, rows_.reduced) ? body_.value(operand) : masked(id);
}

// Values that do not vary along columns are computed once, before the loop that needs them.
void RowKernel::hoist(int id) {
  const Node& node = graph_.nodes[id];
  if (body_.known(id) || (node.kind == NodeKind::kPointwise && node.operands.empty())) return;
  const bool crosses = node.kind == NodeKind::kReduce || node.kind == NodeKind::kScan;
  if (!varies_with_any(node, rows_.reduced) && !crosses) {
    body_.value(id);
    return;
  }
  if (node.kind == NodeKind::kWindow) return;  // what it is made of varies with loops of its own
  for (int operand : node.operands) hoist(operand);
}

void RowKernel::find_scans(int id, std::set<int>& out) const {
  const Node& node = graph_.nodes[id];
  if (body_.known(id) || node.kind == NodeKind::kReduce) return;
  if (node.kind == NodeKind::kScan) out.insert(id);
  for (int operand : node.operands) find_scans(operand, out);
}

void RowKernel::open_walk(const std::vector<int>& roots, const std::string& first,
                          const std::string& last) {
  std::set<int> scans;
  for (int root : roots) {
    hoist(root);
    find_scans(root, scans);
  }
  carries_.clear();
  for (int id : scans) {
    const Node& node = graph_.nodes[id];
    carries_[id] = kernel_.unique(node.name + "_carry");
    auto start = starts_.find(id);
    kernel_.line(carries_[id] + " = " +
                 (start != starts_.end() ? start->second
                                         : "tl.full((BLOCK_M, 1), " + neutral(node) + ", " +
                                               std::string(triton_name(node.dtype)) + ")"));
  }
  body_.on_scan = [this](int id) { return carried_scan(id); };
  kernel_.open("for start in range(" + first + ", " + last + ", BLOCK_N):");
  body_.open_scope();
  bind_columns("start");
}

void RowKernel::close_walk() {
  body_.close_scope();
  kernel_.close();
}

std::string RowKernel::carried_scan(int id) {
  const Node& node = graph_.nodes[id];
  const std::string tile = scan_operand(id), name = kernel_.unique(node.name);
  const std::string& carry = carries_.at(id);
  kernel_.line(name + " = " + combined(node, carry, scanned_tile(node, tile, kernel_), kernel_));
  kernel_.line(carry + " = tl.sum(tl.where(cols == start + BLOCK_N - 1, " + name +
               ", 0), axis=1, keep_dims=True)");
  return name;
}

std::vector<std::string> RowKernel::accumulate(const std::vector<int>& nodes,
                                               const std::string& first, const std::string& last) {
  std::vector<int> roots;
  std::map<int, int> partner;  // of an extremum or a sum: what is found with it
  for (int id : nodes) {
    const Node& operand = graph_.nodes[graph_.nodes[id].operands[0]];
    const int with = rows_.found_with(id);
    if (with >= 0) partner[with] = id;
    if (with < 0) roots.push_back(graph_.nodes[id].operands[0]);
    if (rows_.located.count(id)) roots.push_back(operand.operands[2]);
  }
  std::map<int, std::string> accumulators;
  std::vector<std::string> out;
  bool means = false;
  for (int id : nodes) {
    const Node& node = graph_.nodes[id];
    out.push_back(kernel_.unique(node.name + "_acc"));
    accumulators[id] = out.back();
    kernel_.line(out.back() + " = tl.full((BLOCK_M, BLOCK_N), " + neutral(node) + ", " +
                 std::string(triton_name(node.dtype)) + ")");
    if (!rows_.moments.count(id) || means) continue;
    means = true;
    lanes_ = kernel_.unique("lanes");
    kernel_.line(lanes_ + " = tl.zeros((1, BLOCK_N), " + std::string(triton_name(node.dtype)) +
                 ")");
  }
  open_walk(roots, first, last);
  if (means) kernel_.line(lanes_ + " += tl.where(col_mask, 1.0, 0.0)");
  for (int id : nodes) {
    if (rows_.found_with(id) >= 0) continue;  // with its partner
    const std::string& tile = accumulators[id];
    auto pair = partner.find(id);
    if (pair == partner.end()) {
      kernel_.line(tile + " = " + combined(graph_.nodes[id], tile, masked(id), kernel_));
    } else if (rows_.located.count(pair->second)) {
      accumulate_located(id, tile, pair->second, accumulators[pair->second]);
    } else {
      accumulate_moments(id, tile, accumulators[pair->second]);
    }
  }
  close_walk();
  return out;
}

// Welford's update of one lane's mean and sum of squares.
void RowKernel::accumulate_moments(int sum, const std::string& mean, const std::string& squares) {
  const std::string delta = kernel_.unique("delta"), step = kernel_.unique("step");
  const std::string x = body_.value(graph_.nodes[sum].operands[0]);
  kernel_.line(delta + " = tl.where(col_mask, " + x + " - " + mean + ", 0.0)");
  kernel_.line(step + " = " + delta + " / tl.maximum(" + lanes_ + ", 1.0)");
  kernel_.line(mean + " += " + step);
  kernel_.line(squares + " += " + delta + " * (" + delta + " - " + step + ")");
}

// Updates one lane's extremum so far and its position: the first of equal elements. Lanes past the
// end of the row hold the neutral element at positions that no element has.
void RowKernel::accumulate_located(int best, const std::string& value, int first,
                                   const std::string& position) {
  const Node& node = graph_.nodes[best];
  const Node& candidate = graph_.nodes[graph_.nodes[first].operands[0]];
  const std::string x = kernel_.unique("x"), better = kernel_.unique("better");
  kernel_.line(x + " = " + masked(best));
  const std::string index = body_.value(candidate.operands[2]);
  const bool largest = node.reduce == ReduceOp::kMax || node.reduce == ReduceOp::kMaximum;
  const std::string before = kernel_.unique("before");
  kernel_.line(before + " = " + index + " < " + position);
  kernel_.line(better + " = (" + x + (largest ? " > " : " < ") + value + ") | ((" + x +
               " == " + value + ") & " + before + ")");
  if (is_floating(node.dtype)) {
    kernel_.line(better + " = " + better + " | ((" + x + " != " + x + ") & ((" + value +
                 " == " + value + ") | " + before + "))");
  }
  kernel_.line(value + " = tl.where(" + better + ", " + x + ", " + value + ")");
  kernel_.line(position + " = tl.where(" + better + ", " + index + ", " + position +
               ").to(tl.int32)");
}

std::vector<std::string> RowKernel::finish(const std::vector<int>& nodes,
                                           const std::vector<std::string>& tiles) {
  std::map<int, size_t> place;
  for (size_t i = 0; i < nodes.size(); ++i) place[nodes[i]] = i;
  std::vector<std::string> out(nodes.size());
  std::set<int> means;
  for (int id : nodes) {
    if (auto pair = rows_.moments.find(id); pair != rows_.moments.end()) means.insert(pair->second);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph_.nodes[nodes[i]];
    std::string tile = tiles[i];
    if (auto pair = rows_.located.find(nodes[i]); pair != rows_.located.end()) {
      const size_t best = place.at(pair->second);
      std::string holds = tiles[best] + " == " + out[best];
      if (is_floating(graph_.nodes[pair->second].dtype)) {
        holds = "(" + holds + ") | (" + tiles[best] + " != " + tiles[best] + ")";
      }
      tile = "tl.where(" + holds + ", " + tile + ", " + neutral(node) + ")";
    } else if (auto squares = rows_.moments.find(nodes[i]); squares != rows_.moments.end()) {
      const size_t sum = place.at(squares->second);
      const std::string apart = kernel_.unique("apart");
      kernel_.line(apart + " = " + tiles[sum] + " - " + out[sum] + " / tl.maximum(tl.sum(" +
                   lanes_ + ", axis=1, keep_dims=True), 1.0)");
      tile += " + " + lanes_ + " * " + apart + " * " + apart;
    } else if (means.count(nodes[i])) {
      tile += " * " + lanes_;
    }
    out[i] = kernel_.unique(node.name);
    kernel_.line(out[i] + " = " + reduced_tile(node, tile, kernel_));
  }
  return out;
}

void RowKernel::store_results(const std::string& first, const std::string& last) {
  for (int output : rows_.kept_outputs) body_.store(output);
  if (rows_.full_outputs.empty()) return;
  std::vector<int> roots;
  for (int output : rows_.full_outputs) roots.push_back(graph_.outputs[output].node);
  open_walk(roots, first, last);
  for (int output : rows_.full_outputs) body_.store(output);
  close_walk();
}

std::vector<int> RowKernel::reductions(int level) const {
  std::vector<int> out;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[i].kind == NodeKind::kReduce && rows_.level[i] == level) {
      out.push_back(static_cast<int>(i));
    }
  }
  return out;
}

}  // namespace kw::teacher
