// Reductions and the softmax family, by definition.
#include <algorithm>
#include <cmath>

#include "policy/teacher/lowering.h"

namespace kw::teacher {

bool Lowering::reduction() {
  const std::string base = call_->op.substr(0, call_->op.rfind('.'));
  if (find_operator(call_->op)->cls != OpClass::kReduction) return false;
  auto accumulated = [&] {  // sums of integers are int64, of anything else the result's type
    return cast("cast", operand("self"), result_value().dtype);
  };
  auto dims = [&](const Tensor& t) { return dims_argument("dim", t.rank()); };
  const bool keepdim = flag("keepdim", false);
  if (base == "aten.sum" || base == "aten.prod") {
    const Tensor t = accumulated();
    const ReduceOp op = base == "aten.sum" ? ReduceOp::kSum : ReduceOp::kProd;
    set_result(0, reduce(base.substr(5), op, t, dims(t), keepdim));
  } else if (base == "aten.mean") {
    const Tensor t = accumulated();
    if (!is_floating(t.dtype)) throw Refusal{"a mean of integers"};
    set_result(0, mean_of(t, dims(t), keepdim));
  } else if (base == "aten.amax" || base == "aten.max") {
    extremum(true, call_->op == "aten.max.dim", false);
  } else if (base == "aten.amin" || base == "aten.min") {
    extremum(false, call_->op == "aten.min.dim", false);
  } else if (base == "aten.argmax" || base == "aten.argmin") {
    extremum(base == "aten.argmax", false, true);
  } else if (base == "aten.var" || base == "aten.std") {
    variance(base == "aten.std");
  } else if (base == "aten.any" || base == "aten.all") {
    Tensor t = cast("cast", operand("self"), DType::kBool);
    const std::vector<int> over = dims(t);
    t = cast("cast", t, DType::kInt32);
    const bool any = base == "aten.any";
    t = reduce(base.substr(5), any ? ReduceOp::kMax : ReduceOp::kMin, t, over, keepdim);
    set_result(0, cast("cast", t, DType::kBool));
  } else if (base == "aten.linalg_vector_norm") {
    vector_norm();
  } else if (base == "aten.logsumexp") {
    const Tensor t = cast("cast", operand("self"), result_value().dtype);
    const std::vector<int> over = dims(t);
    const DType type = register_type(t.dtype);
    const Tensor top = reduce("row_max", ReduceOp::kMax, t, over, true);
    // A row of -inf has no finite maximum to subtract.
    const Tensor shift =
        pointwise("shift", "tl.where(tl.abs({0}) == float(\"inf\"), 0.0, {0})", {top}, type);
    const Tensor sum =
        reduce("row_sum", ReduceOp::kSum,
               pointwise("shifted_exp", "tl.exp({0} - {1})", {t, shift}, type), over, true);
    Tensor out = pointwise("logsumexp", "{0} + tl.log({1})", {shift, sum}, type);
    set_result(0, keepdim ? out : reshaped(out, result_value().shape));
  } else {
    return false;
  }
  return true;
}

Tensor Lowering::mean_of(Tensor t, const std::vector<int>& dims, bool keepdim) {
  t = use(std::move(t));
  const DType dtype = t.dtype;
  const Tensor sum = reduce("total", ReduceOp::kSum, t, dims, keepdim);
  return pointwise("mean", "{0} / {1}", {sum, count(t, dims)},
                   {register_type(dtype), DType::kInt32}, dtype);
}

// Sum over `dims` of (t - mean)^2, kept as dimensions of size 1.
Tensor Lowering::centered_square_sum(const Tensor& t, const std::vector<int>& dims) {
  const DType type = register_type(t.dtype);
  const Tensor mean = mean_of(t, dims, true);
  const Tensor centered = pointwise("centered", "{0} - {1}", {t, mean}, type);
  const Tensor square = pointwise("square", "{0} * {0}", {centered}, type);
  return reduce("square_sum", ReduceOp::kSum, square, dims, true);
}

void Lowering::variance(bool root) {
  const Tensor t = use(operand("self"));
  const std::vector<int> dims = dims_argument("dim", t.rank());
  const double correction = number("correction", 1);
  if (correction != std::floor(correction) || correction < 0)
    throw Refusal{"a fractional correction"};
  const DType type = register_type(t.dtype);
  const Tensor sum = centered_square_sum(t, dims);
  const std::string less =
      correction == 0 ? "{1}" : "({1} - " + literal(correction, DType::kInt32) + ")";
  Tensor out =
      pointwise("var", "{0} / " + less, {sum, count(t, dims)}, {type, DType::kInt32}, t.dtype);
  if (root) {
    const bool wide = type == DType::kFloat64;
    out = pointwise("std", wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})", {out}, t.dtype);
  }
  set_result(0, reshaped(std::move(out), result_value().shape));
}

// amax, max, argmax and their mirror images. The position is the first one that holds the extremum.
void Lowering::extremum(bool largest, bool with_index, bool index_only) {
  Tensor t = operand("self");
  const DType dtype = t.dtype;
  if (!is_floating(dtype) && dtype_bytes(dtype) < 4) t = cast("cast", t, DType::kInt32);
  t = with_index || index_only ? as_stored(std::move(t)) : use(std::move(t));
  const std::vector<int> dims = dims_argument("dim", t.rank());
  const ReduceOp op = largest ? ReduceOp::kMax : ReduceOp::kMin;
  const Tensor best = reduce(largest ? "row_max" : "row_min", op, t, dims, true);
  if (!index_only) {
    set_result(0, reshaped(cast("cast", best, dtype), result_value().shape));
    if (!with_index) return;
  }
  const Tensor index = index_along(t, dims);
  const Tensor n = count(t, dims);
  const DType reg = register_type(t.dtype);
  const Tensor candidate =
      pointwise("candidate", "tl.where({0} == {1}, {2}, {3})", {t, best, index, n},
                {reg, reg, DType::kInt32, DType::kInt32}, DType::kInt32);
  Tensor first = reduce("first", ReduceOp::kMin, candidate, dims, true);
  first = cast("cast", first, DType::kInt64);
  const size_t place = index_only ? 0 : 1;
  if (place < call_->results.size() && call_->results[place] >= 0) {
    set_result(place, reshaped(std::move(first), result_value(place).shape));
  }
}

void Lowering::vector_norm() {
  const Tensor t = cast("cast", operand("self"), result_value().dtype);
  const std::vector<int> dims = dims_argument("dim", t.rank());
  const double ord = number("ord", 2);
  const DType type = register_type(t.dtype);
  const bool wide = type == DType::kFloat64;
  Tensor out;
  if (ord == 2) {
    const Tensor square = pointwise("square", "{0} * {0}", {t}, type);
    out = reduce("square_sum", ReduceOp::kSum, square, dims, true);
    out = pointwise("norm", wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})", {out}, t.dtype);
  } else if (ord == 1 || std::isinf(ord)) {
    const Tensor magnitude = pointwise("magnitude", "tl.abs({0})", {t}, type);
    const ReduceOp op = ord == 1 ? ReduceOp::kSum : ord > 0 ? ReduceOp::kMax : ReduceOp::kMin;
    out = reduce("norm", op, magnitude, dims, true);
  } else {
    throw Refusal{"a norm of this order"};
  }
  out.dtype = t.dtype;
  set_result(0, reshaped(std::move(out), result_value().shape));
}

Tensor Lowering::shifted_exp(const Tensor& t, int dim, Tensor* shifted) {
  const DType type = register_type(t.dtype);
  const Tensor top = reduce("row_max", ReduceOp::kMax, t, {dim}, true);
  *shifted = pointwise("shifted", "{0} - {1}", {t, top}, type);
  return pointwise("numerator", "tl.exp({0})", {*shifted}, type);
}

bool Lowering::softmax(const std::string& base) {
  const bool log = base == "aten._log_softmax" || base == "aten.log_softmax";
  if (!log && base != "aten._softmax" && base != "aten.softmax") return false;
  const DType dtype = result_value().dtype;
  const Tensor t = use(cast("cast", operand("self"), dtype));
  if (t.rank() == 0) throw Refusal{"a softmax of a scalar"};
  const int dim = wrap(integer("dim", -1), t.rank());
  Tensor shifted;
  const Tensor numerator = shifted_exp(t, dim, &shifted);
  const Tensor sum = reduce("denominator", ReduceOp::kSum, numerator, {dim}, true);
  set_result(0, log ? pointwise("log_softmax", "{0} - tl.log({1})", {shifted, sum}, dtype)
                    : pointwise("softmax", "{0} / {1}", {numerator, sum}, dtype));
  return true;
}

}  // namespace kw::teacher
