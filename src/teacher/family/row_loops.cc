#include "teacher/family/row_loops.h"

#include <algorithm>
#include <cstdlib>

namespace kw::teacher {
namespace {

bool crosses_row(const Node& node) {
  return node.kind == NodeKind::kReduce || node.kind == NodeKind::kScan;
}

void find_levels(const Graph& graph, RowLoops* out) {
  out->level.assign(graph.nodes.size(), 0);
  out->stage.assign(graph.nodes.size(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    int &level = out->level[i], &stage = out->stage[i];
    if (const int partner = out->found_with(static_cast<int>(i)); partner >= 0) {
      level = out->level[partner], stage = out->stage[partner];
      continue;
    }
    for (int operand : node.operands) {
      level = std::max(level, out->level[operand]);
      stage = std::max(stage, out->stage[operand]);
    }
    if (node.kind == NodeKind::kReduce) out->levels = std::max(out->levels, ++level);
    if (crosses_row(node)) out->stages = std::max(out->stages, ++stage);
  }
}

bool sort_outputs(const Graph& graph, const Axes& crossed, RowLoops* out) {
  Axes all = crossed;
  for (const Node& node : graph.nodes) all = set_union(all, node.varies);
  std::vector<Axes> outputs;
  for (const Output& output : graph.outputs) {
    Axes own = graph.nodes[output.node].varies;
    for (const Piece& piece : output.pieces) own = set_union(own, graph.axes.leaves(piece.axis));
    all = set_union(all, own);
    outputs.push_back(own);
  }
  out->kept = set_minus(all, crossed);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == all) {
      out->full_outputs.push_back(static_cast<int>(i));
    } else if (outputs[i] == out->kept) {
      out->kept_outputs.push_back(static_cast<int>(i));
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

// Both reductions are over one value, and the second looks for the result of the first.
std::map<int, int> located_reductions(const Graph& graph) {
  std::map<int, int> out;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& first = graph.nodes[i];
    if (first.kind != NodeKind::kReduce || first.reduce != ReduceOp::kMin) continue;
    const Node& candidate = graph.nodes[first.operands[0]];
    if (candidate.expression != kPositionOfReal && candidate.expression != kPositionOfInteger) {
      continue;
    }
    const int best = candidate.operands[1];
    const Node& extremum = graph.nodes[best];
    if (extremum.kind == NodeKind::kReduce && extremum.operands[0] == candidate.operands[0] &&
        sorted(extremum.axes) == sorted(first.axes)) {
      out[static_cast<int>(i)] = best;
    }
  }
  return out;
}

// sum((x - sum(x) / n)^2) and the inner sum.
std::map<int, int> moment_reductions(const Graph& graph) {
  std::map<int, int> out;
  auto is = [&](int id, const char* expression) {
    const Node& node = graph.nodes[id];
    return node.kind == NodeKind::kPointwise && node.expression == expression;
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& squares = graph.nodes[i];
    if (squares.kind != NodeKind::kReduce || squares.reduce != ReduceOp::kSum) continue;
    const int square = squares.operands[0];
    if (!is(square, "{0} * {0}") || !is(graph.nodes[square].operands[0], "{0} - {1}")) continue;
    const Node& centered = graph.nodes[graph.nodes[square].operands[0]];
    const int x = centered.operands[0], mean = centered.operands[1];
    if (!is(mean, "{0} / {1}")) continue;
    const int sum = graph.nodes[mean].operands[0], count = graph.nodes[mean].operands[1];
    const Node& sums = graph.nodes[sum];
    const bool counted = graph.nodes[count].kind == NodeKind::kCount &&
                         sorted(graph.nodes[count].axes) == sorted(sums.axes);
    if (sums.kind == NodeKind::kReduce && sums.reduce == ReduceOp::kSum && counted &&
        sums.operands[0] == x && sorted(sums.axes) == sorted(squares.axes) &&
        is_floating(sums.dtype) && !set_intersection(graph.nodes[x].varies, sums.axes).empty()) {
      out[static_cast<int>(i)] = sum;
    }
  }
  return out;
}

bool analyse_rows(const Subject& subject, RowLoops* out) {
  const Graph& graph = subject.graph;
  const Axes* scanned = nullptr;
  int full_loads = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kMatmul || node.kind == NodeKind::kConvolution) return false;
    if (!crosses_row(node)) continue;
    const Axes axes = sorted(node.axes);
    if (!out->reduced.empty() && axes != out->reduced) return false;
    out->reduced = axes;
    if (node.kind != NodeKind::kScan) continue;
    if (scanned && *scanned != node.axes) return false;
    scanned = &node.axes;  // walked in this order, whatever memory's is
    ++out->scans;
  }
  if (out->reduced.empty() || !sort_outputs(graph, out->reduced, out)) return false;
  out->located = located_reductions(graph);
  out->moments = moment_reductions(graph);
  find_levels(graph, out);
  for (const Node& node : graph.nodes) {
    full_loads += node.kind == NodeKind::kLoad &&
                  !set_intersection(node.varies, out->reduced).empty() &&
                  !set_intersection(node.varies, out->kept).empty();
  }
  out->live_tiles = 1 + full_loads + out->scans + (out->located.empty() ? 0 : 1);
  out->rows = merged_loops(graph, subject.table, out->kept);
  out->cols = scanned ? joined_loops(graph, subject.table, *scanned)
                      : merged_loops(graph, subject.table, out->reduced);
  if (out->rows.empty()) return true;
  for (const Access& access : subject.table.accesses) {
    const LeafStride* row = likely_stride(access, out->rows.back());
    const LeafStride* col = likely_stride(access, out->cols.back());
    if (!row || !col) continue;
    out->rows_inner = std::abs(row->stride) < std::abs(col->stride);
    break;
  }
  return true;
}

int RowLoops::found_with(int reduction) const {
  for (const auto& pairs : {located, moments}) {
    if (auto pair = pairs.find(reduction); pair != pairs.end()) return pair->second;
  }
  return -1;
}

std::string neutral(const Node& node) {
  const bool real = is_floating(node.dtype);
  switch (node.reduce) {
    case ReduceOp::kSum:
      return real ? "0.0" : "0";
    case ReduceOp::kProd:
      return real ? "1.0" : "1";
    case ReduceOp::kMax:
    case ReduceOp::kMaximum:
    case ReduceOp::kLogAddExp:
      if (real) return "float(\"-inf\")";
      return node.dtype == DType::kInt64 ? "-9223372036854775808" : "-2147483648";
    case ReduceOp::kMin:
    case ReduceOp::kMinimum:
      if (real) return "float(\"inf\")";
      return node.dtype == DType::kInt64 ? "9223372036854775807" : "2147483647";
  }
  return "";
}

std::string combined(const Node& node, const std::string& a, const std::string& b,
                     KernelText& kernel) {
  const std::string nan = ", propagate_nan=tl.PropagateNan.ALL)";
  switch (node.reduce) {
    case ReduceOp::kSum:
      return a + " + " + b;
    case ReduceOp::kProd:
      return a + " * " + b;
    case ReduceOp::kMax:
      return "tl.maximum(" + a + ", " + b + ")";
    case ReduceOp::kMin:
      return "tl.minimum(" + a + ", " + b + ")";
    case ReduceOp::kMaximum:
      return "tl.maximum(" + a + ", " + b + nan;
    case ReduceOp::kMinimum:
      return "tl.minimum(" + a + ", " + b + nan;
    case ReduceOp::kLogAddExp:
      return kernel.helper("log_add_exp", "a, b",
                           "    top = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"
                           "    bottom = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)\n"
                           "    # Equal infinities have no difference.\n"
                           "    same = (top == bottom) & (tl.abs(top) == float(\"inf\"))\n"
                           "    total = top + libdevice.log1p(tl.exp(bottom - top))\n"
                           "    return tl.where(same, top, total)\n") +
             "(" + a + ", " + b + ")";
  }
  return "";
}

namespace {

// The function that tl.reduce and tl.associative_scan combine two elements with.
std::string combiner(const Node& node, KernelText& kernel) {
  const char* name = "";
  switch (node.reduce) {
    case ReduceOp::kSum:
      name = "add";
      break;
    case ReduceOp::kProd:
      name = "multiply";
      break;
    case ReduceOp::kMax:
      name = "larger";
      break;
    case ReduceOp::kMin:
      name = "smaller";
      break;
    case ReduceOp::kMaximum:
      name = "larger_or_nan";
      break;
    case ReduceOp::kMinimum:
      name = "smaller_or_nan";
      break;
    case ReduceOp::kLogAddExp:
      combined(node, "a", "b", kernel);
      return "log_add_exp";
  }
  return kernel.helper(name, "a, b", "    return " + combined(node, "a", "b", kernel) + "\n");
}

}  // namespace

std::string reduced_tile(const Node& node, const std::string& tile, KernelText& kernel) {
  switch (node.reduce) {
    case ReduceOp::kSum:
      return "tl.sum(" + tile + ", axis=1, keep_dims=True)";
    case ReduceOp::kMax:
      return "tl.max(" + tile + ", axis=1, keep_dims=True)";
    case ReduceOp::kMin:
      return "tl.min(" + tile + ", axis=1, keep_dims=True)";
    default:
      return "tl.reduce(" + tile + ", 1, " + combiner(node, kernel) + ", keep_dims=True)";
  }
}

std::string scanned_tile(const Node& node, const std::string& tile, KernelText& kernel) {
  if (node.reduce == ReduceOp::kSum) return "tl.cumsum(" + tile + ", axis=1)";
  if (node.reduce == ReduceOp::kProd) return "tl.cumprod(" + tile + ", axis=1)";
  return "tl.associative_scan(" + tile + ", 1, " + combiner(node, kernel) + ")";
}

}  // namespace kw::teacher
