// Reductions and the softmax family, by definition.
#include <algorithm>
#include <cmath>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

bool Lowering::reduction() {
  const std::string base = call_->op.substr(0, call_->op.rfind('.'));
  if (find_operator(call_->op)->cls != OpClass::kReduction) return false;
  if (base == "aten.sum" || base == "aten.nansum" || base == "aten.prod" ||
      base == "aten.count_nonzero") {
    sum_or_product(base);
  } else if (base == "aten.mean") {
    const Tensor t = cast("cast", operand("self"), result_value().dtype);
    if (!is_floating(t.dtype)) throw Refusal{"a mean of integers"};
    set_result(0, mean_of(t, dims_argument("dim", t.rank()), flag("keepdim", false)));
  } else if (base == "aten.amax" || base == "aten.max") {
    extremum(true, call_->op == "aten.max.dim", false);
  } else if (base == "aten.amin" || base == "aten.min") {
    extremum(false, call_->op == "aten.min.dim", false);
  } else if (base == "aten.aminmax") {
    extremum(false, false, false, 0);
    extremum(true, false, false, 1);
  } else if (base == "aten.argmax" || base == "aten.argmin") {
    extremum(base == "aten.argmax", false, true);
  } else if (base == "aten.var" || base == "aten.std" || base == "aten.var_mean" ||
             base == "aten.std_mean") {
    variance(base.starts_with("aten.std"), base.ends_with("_mean"));
  } else if (base == "aten.any" || base == "aten.all") {
    any_or_all(base == "aten.any");
  } else if (base == "aten.linalg_vector_norm" || base == "aten.norm") {
    vector_norm(base == "aten.norm" ? "p" : "ord");
  } else if (base == "aten.logsumexp") {
    log_sum_exp();
  } else {
    return false;
  }
  return true;
}

// Of integers in int64, unless dtype= says otherwise; of anything else in the result's type.
void Lowering::sum_or_product(const std::string& base) {
  const DType dtype = result_value().dtype;
  Tensor t = operand("self");
  if (base == "aten.count_nonzero") t = cast("nonzero", std::move(t), DType::kBool);
  t = cast("cast", std::move(t), dtype);
  // What does not fit a narrow integer wraps around, so it may be computed in a wider one.
  if (is_integral(dtype) && dtype_bytes(dtype) < 4) t = cast("cast", t, DType::kInt32);
  if (dtype == DType::kBool) throw Refusal{base + " in bool"};
  if (base == "aten.nansum" && is_floating(dtype)) {
    t = pointwise("number", "tl.where({0} == {0}, {0}, 0.0)", {t}, dtype);
  }
  const ReduceOp op = base == "aten.prod" ? ReduceOp::kProd : ReduceOp::kSum;
  const std::vector<int> over = dims_argument("dim", t.rank());
  t = reduce(base == "aten.prod" ? "prod" : "sum", op, t, over, flag("keepdim", false));
  set_result(0, cast("cast", std::move(t), dtype));
}

void Lowering::any_or_all(bool any) {
  Tensor t = cast("cast", operand("self"), DType::kBool);
  const std::vector<int> over = dims_argument("dim", t.rank());
  t = cast("cast", t, DType::kInt32);
  t = reduce(any ? "any" : "all", any ? ReduceOp::kMax : ReduceOp::kMin, t, over,
             flag("keepdim", false));
  set_result(0, cast("cast", cast("cast", t, DType::kBool), result_value().dtype));
}

void Lowering::log_sum_exp() {
  const Tensor t = cast("cast", operand("self"), result_value().dtype);
  const std::vector<int> over = dims_argument("dim", t.rank());
  const DType type = register_type(t.dtype);
  const Tensor top = reduce("row_max", ReduceOp::kMax, t, over, true);
  // A row of -inf has no finite maximum to subtract.
  const Tensor shift =
      pointwise("shift", "tl.where(tl.abs({0}) == float(\"inf\"), 0.0, {0})", {top}, type);
  const Tensor sum =
      reduce("row_sum", ReduceOp::kSum,
             pointwise("shifted_exp", "tl.exp({0} - {1})", {t, shift}, type), over, true);
  const Tensor out = pointwise("logsumexp", "{0} + tl.log({1})", {shift, sum}, type);
  set_result(0, reshaped(out, result_value().shape));
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

void Lowering::variance(bool root, bool with_mean) {
  const Tensor t = use(operand("self"));
  const std::vector<int> dims = dims_argument("dim", t.rank());
  const double correction = number("correction", 1);
  const DType type = register_type(t.dtype);
  const bool whole = correction == std::floor(correction);
  const Tensor sum = centered_square_sum(t, dims);
  std::string divisor = "{1}";
  if (correction != 0) {
    divisor = "({1} - " + literal(correction, whole ? DType::kInt32 : type) + ")";
  }
  // More correction than elements divides by zero; a correction of one never exceeds them.
  if (correction > 1 || !whole) {
    divisor = "tl.maximum(" + divisor + ", " + (whole ? "0" : literal(0, type)) + ")";
  }
  Tensor out =
      pointwise("var", "{0} / " + divisor, {sum, count(t, dims)}, {type, DType::kInt32}, t.dtype);
  if (root) {
    const bool wide = type == DType::kFloat64;
    out = pointwise("std", wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})", {out}, t.dtype);
  }
  set_result(0, reshaped(std::move(out), result_value().shape));
  if (with_mean && call_->results.size() > 1 && call_->results[1] >= 0) {
    set_result(1, reshaped(mean_of(t, dims, true), result_value(1).shape));
  }
}

// amax, max, argmax and their mirror images. The position is the first one that holds the extremum;
// NaN counts as the extremum. `place` is that of the value among the results.
void Lowering::extremum(bool largest, bool with_index, bool index_only, size_t place) {
  Tensor t = operand("self");
  const DType dtype = t.dtype;
  const bool real = is_floating(dtype);
  if (!real && dtype_bytes(dtype) < 4) t = cast("cast", t, DType::kInt32);
  t = with_index || index_only ? as_stored(std::move(t)) : use(std::move(t));
  const std::vector<int> dims = dims_argument("dim", t.rank());
  const ReduceOp op = largest ? (real ? ReduceOp::kMaximum : ReduceOp::kMax)
                              : (real ? ReduceOp::kMinimum : ReduceOp::kMin);
  const Tensor best = reduce(largest ? "row_max" : "row_min", op, t, dims, true);
  if (!index_only) {
    const bool wanted = place < call_->results.size() && call_->results[place] >= 0;
    if (wanted) set_result(place, reshaped(cast("cast", best, dtype), result_value(place).shape));
    if (!with_index) return;
  }
  const Tensor index = index_along(t, dims);
  const DType reg = register_type(t.dtype);
  const Tensor candidate = pointwise("candidate", real ? kPositionOfReal : kPositionOfInteger,
                                     {t, best, index, count(t, dims)},
                                     {reg, reg, DType::kInt32, DType::kInt32}, DType::kInt32);
  Tensor first = reduce("first", ReduceOp::kMin, candidate, dims, true);
  first = cast("cast", first, DType::kInt64);
  const size_t index_place = index_only ? 0 : 1;
  if (index_place < call_->results.size() && call_->results[index_place] >= 0) {
    set_result(index_place, reshaped(std::move(first), result_value(index_place).shape));
  }
}

// (sum of |x|^p)^(1/p); the number of nonzeros for p = 0, an extremum for an infinite one.
void Lowering::vector_norm(const std::string& order) {
  const Tensor t = cast("cast", operand("self"), result_value().dtype);
  const std::vector<int> dims = dims_argument("dim", t.rank());
  const double p = number(order, 2);
  const DType type = register_type(t.dtype);
  const bool wide = type == DType::kFloat64;
  auto summed = [&](const char* name, const std::string& expression, std::vector<Tensor> operands) {
    return reduce(name, ReduceOp::kSum, pointwise("term", expression, std::move(operands), type),
                  dims, true);
  };
  auto exponent = [&](double value) {
    return constant(std::string("tl.full((), ") + literal(value, DType::kFloat32) + ", " +
                        std::string(triton_name(type)) + ")",
                    type);
  };
  Tensor out;
  if (p == 2) {
    out = summed("square_sum", "{0} * {0}", {t});
    out = pointwise("norm", wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})", {out}, t.dtype);
  } else if (p == 0) {
    out = summed("nonzeros",
                 "tl.where({0} == 0.0, 0.0, 1.0).to(" + std::string(triton_name(type)) + ")", {t});
  } else if (p == 1) {
    out = summed("norm", "tl.abs({0})", {t});
  } else if (std::isinf(p)) {
    const ReduceOp op = p > 0 ? ReduceOp::kMaximum : ReduceOp::kMinimum;
    out = reduce("norm", op, pointwise("magnitude", "tl.abs({0})", {t}, type), dims, true);
  } else {
    if (p == 3) {
      out = summed("power_sum", "{0} * {0} * tl.abs({0})", {t});
    } else {
      out = summed("power_sum", "libdevice.pow(tl.abs({0}), {1})", {t, exponent(p)});
    }
    out = pointwise("norm", "libdevice.pow({0}, {1})", {out, exponent(1 / p)}, type);
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
  const int dim = wrap(integer("dim", -1), t.rank());
  Tensor shifted;
  const Tensor numerator = shifted_exp(t, dim, &shifted);
  const Tensor sum = reduce("denominator", ReduceOp::kSum, numerator, {dim}, true);
  if (!log) {
    set_result(0, pointwise("softmax", "{0} / {1}", {numerator, sum}, dtype));
    return true;
  }
  const Tensor size = pointwise("log_sum", "tl.log({0})", {sum}, dtype);
  set_result(0, pointwise("log_softmax", "{0} - {1}", {shifted, size}, dtype));
  return true;
}

}  // namespace kw::teacher
