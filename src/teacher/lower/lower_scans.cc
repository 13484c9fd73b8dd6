// Scans: running sums, products and extrema along one dimension.
#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

Tensor scanned(Builder& b, const std::string& name, ReduceOp op, Tensor t, int dim) {
  t = b.use(std::move(t));
  if (t.rank() == 0) return t;
  Node node;
  node.kind = NodeKind::kScan;
  node.name = name;
  node.dtype = register_type(t.dtype);
  node.reduce = op;
  node.operands = {t.node};
  node.axes = t.axes(dim);
  if (node.axes.empty()) return t;  // of one element
  t.node = b.add_node(std::move(node));
  b.note_layout(t.axes());
  return t;
}

// Gives the running sum, product or the like of the result's type.
void give_scanned(Builder& b, Call& call, ReduceOp op) {
  const DType dtype = call.result_value().dtype;
  if (dtype == DType::kBool) throw Refusal{call.op() + " in bool"};
  // What does not fit a narrow integer wraps around, so it may be computed in a wider one.
  const bool narrow = is_integral(dtype) && dtype_bytes(dtype) < 4;
  Tensor t = b.cast("cast", call.operand("self"), dtype);
  if (narrow) t = b.cast("cast", t, DType::kInt32);
  const int dim = call.wrap(call.integer("dim", 0), t.rank());
  t = scanned(b, call.base().substr(5), op, std::move(t), dim);
  call.set_result(0, b.cast("cast", std::move(t), dtype));
}

void lower_cumsum(Builder& b, Call& call) { give_scanned(b, call, ReduceOp::kSum); }
void lower_cumprod(Builder& b, Call& call) { give_scanned(b, call, ReduceOp::kProd); }
void lower_logcumsumexp(Builder& b, Call& call) { give_scanned(b, call, ReduceOp::kLogAddExp); }

// The position is the last one so far that holds the extremum: every element that equals the
// running extremum takes its place. NaN counts as the extremum.
void running_extremum(Builder& b, Call& call, bool largest) {
  Tensor t = call.operand("self");
  const DType dtype = t.dtype;
  if (!is_floating(dtype) && dtype_bytes(dtype) < 4) t = b.cast("cast", t, DType::kInt32);
  t = b.as_stored(std::move(t));
  const int dim = call.wrap(call.integer("dim", 0), t.rank());
  const bool real = is_floating(dtype);
  const ReduceOp op = largest ? (real ? ReduceOp::kMaximum : ReduceOp::kMax)
                              : (real ? ReduceOp::kMinimum : ReduceOp::kMin);
  const Tensor values = scanned(b, largest ? "running_max" : "running_min", op, t, dim);
  call.set_result(0, b.cast("cast", values, dtype));
  if (!call.wants(1)) return;
  const DType reg = register_type(t.dtype);
  const std::string equal = real ? "({0} == {1}) | ({0} != {0})" : "{0} == {1}";
  std::vector<int> along;
  if (t.rank() > 0) along.push_back(dim);
  const Tensor candidate =
      b.pointwise("candidate", "tl.where(" + equal + ", {2}, 0).to(tl.int32)",
                  {t, values, b.index_along(t, along)}, {reg, reg, DType::kInt32}, DType::kInt32);
  call.set_result(
      1, b.cast("cast", scanned(b, "position", ReduceOp::kMax, candidate, dim), DType::kInt64));
}

void lower_cummax(Builder& b, Call& call) { running_extremum(b, call, true); }
void lower_cummin(Builder& b, Call& call) { running_extremum(b, call, false); }

constexpr LoweringRule kScanRules[] = {
    {"aten.cummax", lower_cummax},
    {"aten.cummin", lower_cummin},
    {"aten.cumprod", lower_cumprod},
    {"aten.cumsum", lower_cumsum},
    {"aten.logcumsumexp", lower_logcumsumexp},
};

}  // namespace

std::span<const LoweringRule> scan_rules() { return kScanRules; }

}  // namespace kw::teacher
