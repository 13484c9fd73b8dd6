// Scans: running sums, products and extrema along one dimension.
#include "teacher/lower/lowering.h"

namespace kw::teacher {

Tensor Lowering::scanned(const std::string& name, ReduceOp op, Tensor t, int dim) {
  t = use(std::move(t));
  if (t.rank() == 0) return t;
  Node node;
  node.kind = NodeKind::kScan;
  node.name = name;
  node.dtype = register_type(t.dtype);
  node.reduce = op;
  node.operands = {t.node};
  node.axes = t.axes(dim);
  if (node.axes.empty()) return t;  // of one element
  t.node = add_node(std::move(node));
  layouts_.push_back(t.axes());
  return t;
}

bool Lowering::scan(const std::string& base) {
  if (base == "aten.cummax" || base == "aten.cummin") {
    running_extremum(base == "aten.cummax");
    return true;
  }
  const bool sum = base == "aten.cumsum", logarithmic = base == "aten.logcumsumexp";
  if (!sum && !logarithmic && base != "aten.cumprod") return false;
  const DType dtype = result_value().dtype;
  if (dtype == DType::kBool) throw Refusal{call_->op + " in bool"};
  // What does not fit a narrow integer wraps around, so it may be computed in a wider one.
  const bool narrow = is_integral(dtype) && dtype_bytes(dtype) < 4;
  Tensor t = cast("cast", operand("self"), dtype);
  if (narrow) t = cast("cast", t, DType::kInt32);
  const int dim = wrap(integer("dim", 0), t.rank());
  const ReduceOp op = sum ? ReduceOp::kSum : logarithmic ? ReduceOp::kLogAddExp : ReduceOp::kProd;
  t = scanned(base.substr(5), op, std::move(t), dim);
  set_result(0, cast("cast", std::move(t), dtype));
  return true;
}

// The position is the last one so far that holds the extremum: every element that equals the
// running extremum takes its place. NaN counts as the extremum.
void Lowering::running_extremum(bool largest) {
  Tensor t = operand("self");
  const DType dtype = t.dtype;
  if (!is_floating(dtype) && dtype_bytes(dtype) < 4) t = cast("cast", t, DType::kInt32);
  t = as_stored(std::move(t));
  const int dim = wrap(integer("dim", 0), t.rank());
  const bool real = is_floating(dtype);
  const ReduceOp op = largest ? (real ? ReduceOp::kMaximum : ReduceOp::kMax)
                              : (real ? ReduceOp::kMinimum : ReduceOp::kMin);
  const Tensor values = scanned(largest ? "running_max" : "running_min", op, t, dim);
  set_result(0, cast("cast", values, dtype));
  if (call_->results.size() < 2 || call_->results[1] < 0) return;
  const DType reg = register_type(t.dtype);
  const std::string equal = real ? "({0} == {1}) | ({0} != {0})" : "{0} == {1}";
  std::vector<int> along;
  if (t.rank() > 0) along.push_back(dim);
  const Tensor candidate =
      pointwise("candidate", "tl.where(" + equal + ", {2}, 0).to(tl.int32)",
                {t, values, index_along(t, along)}, {reg, reg, DType::kInt32}, DType::kInt32);
  set_result(1, cast("cast", scanned("position", ReduceOp::kMax, candidate, dim), DType::kInt64));
}

}  // namespace kw::teacher
