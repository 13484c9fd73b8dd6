// Reductions and the softmax family, by definition.
#include <cmath>

#include "teacher/lower/rules.h"

namespace kw::teacher {

Tensor mean_of(Builder& b, Tensor t, const std::vector<int>& dims, bool keepdim) {
  t = b.use(std::move(t));
  const DType dtype = t.dtype;
  const Tensor sum = b.reduce("total", ReduceOp::kSum, t, dims, keepdim);
  return b.pointwise("mean", "{0} / {1}", {sum, b.count(t, dims)},
                     {register_type(dtype), DType::kInt32}, dtype);
}

Tensor centered_square_sum(Builder& b, const Tensor& t, const std::vector<int>& dims) {
  const DType type = register_type(t.dtype);
  const Tensor mean = mean_of(b, t, dims, true);
  const Tensor centered = b.pointwise("centered", "{0} - {1}", {t, mean}, type);
  const Tensor square = b.pointwise("square", "{0} * {0}", {centered}, type);
  return b.reduce("square_sum", ReduceOp::kSum, square, dims, true);
}

namespace {

// Integers are summed in int64 unless dtype= says otherwise, anything else in the result's type.
void lower_sum_or_product(Builder& b, Call& call) {
  const std::string base = call.base();
  const DType dtype = call.result_value().dtype;
  Tensor t = call.operand("self");
  if (base == "aten.count_nonzero") t = b.cast("nonzero", std::move(t), DType::kBool);
  t = b.cast("cast", std::move(t), dtype);
  // What does not fit a narrow integer wraps around, so it may be computed in a wider one.
  if (is_integral(dtype) && dtype_bytes(dtype) < 4) t = b.cast("cast", t, DType::kInt32);
  if (dtype == DType::kBool) throw Refusal{base + " in bool"};
  if (base == "aten.nansum" && is_floating(dtype)) {
    t = b.pointwise("number", "tl.where({0} == {0}, {0}, 0.0)", {t}, dtype);
  }
  const ReduceOp op = base == "aten.prod" ? ReduceOp::kProd : ReduceOp::kSum;
  const std::vector<int> over = call.dims_argument("dim", t.rank());
  t = b.reduce(base == "aten.prod" ? "prod" : "sum", op, t, over, call.flag("keepdim", false));
  call.set_result(0, b.cast("cast", std::move(t), dtype));
}

void give_any_or_all(Builder& b, Call& call, bool any) {
  Tensor t = b.cast("cast", call.operand("self"), DType::kBool);
  const std::vector<int> over = call.dims_argument("dim", t.rank());
  t = b.cast("cast", t, DType::kInt32);
  t = b.reduce(any ? "any" : "all", any ? ReduceOp::kMax : ReduceOp::kMin, t, over,
               call.flag("keepdim", false));
  call.set_result(0, b.cast("cast", b.cast("cast", t, DType::kBool), call.result_value().dtype));
}

void lower_logsumexp(Builder& b, Call& call) {
  const Tensor t = b.cast("cast", call.operand("self"), call.result_value().dtype);
  const std::vector<int> over = call.dims_argument("dim", t.rank());
  const DType type = register_type(t.dtype);
  const Tensor top = b.reduce("row_max", ReduceOp::kMax, t, over, true);
  // A row of -inf has no finite maximum to subtract.
  const Tensor shift =
      b.pointwise("shift", "tl.where(tl.abs({0}) == float(\"inf\"), 0.0, {0})", {top}, type);
  const Tensor sum =
      b.reduce("row_sum", ReduceOp::kSum,
               b.pointwise("shifted_exp", "tl.exp({0} - {1})", {t, shift}, type), over, true);
  const Tensor out = b.pointwise("logsumexp", "{0} + tl.log({1})", {shift, sum}, type);
  call.set_result(0, reshaped(b, out, call.result_value().shape));
}

void give_variance(Builder& b, Call& call, bool root, bool with_mean) {
  const Tensor t = b.use(call.operand("self"));
  const std::vector<int> dims = call.dims_argument("dim", t.rank());
  const double correction = call.number("correction", 1);
  const DType type = register_type(t.dtype);
  const bool whole = correction == std::floor(correction);
  const Tensor sum = centered_square_sum(b, t, dims);
  std::string divisor = "{1}";
  if (correction != 0) {
    divisor = "({1} - " + literal(correction, whole ? DType::kInt32 : type) + ")";
  }
  // More correction than elements divides by zero; a correction of one never exceeds them.
  if (correction > 1 || !whole) {
    divisor = "tl.maximum(" + divisor + ", " + (whole ? "0" : literal(0, type)) + ")";
  }
  Tensor out = b.pointwise("var", "{0} / " + divisor, {sum, b.count(t, dims)},
                           {type, DType::kInt32}, t.dtype);
  if (root) {
    const bool wide = type == DType::kFloat64;
    out = b.pointwise("std", wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})", {out}, t.dtype);
  }
  call.set_result(0, reshaped(b, std::move(out), call.result_value().shape));
  if (with_mean && call.wants(1)) {
    call.set_result(1, reshaped(b, mean_of(b, t, dims, true), call.result_value(1).shape));
  }
}

// Gives amax, max, argmax and their mirror images. The position is the first that holds the
// extremum, and NaN counts as the extremum. The value is the result `place`.
void give_extremum(Builder& b, Call& call, bool largest, bool with_index, bool index_only,
                   size_t place) {
  Tensor t = call.operand("self");
  const DType dtype = t.dtype;
  const bool real = is_floating(dtype);
  if (!real && dtype_bytes(dtype) < 4) t = b.cast("cast", t, DType::kInt32);
  t = with_index || index_only ? b.as_stored(std::move(t)) : b.use(std::move(t));
  const std::vector<int> dims = call.dims_argument("dim", t.rank());
  const ReduceOp op = largest ? (real ? ReduceOp::kMaximum : ReduceOp::kMax)
                              : (real ? ReduceOp::kMinimum : ReduceOp::kMin);
  const Tensor best = b.reduce(largest ? "row_max" : "row_min", op, t, dims, true);
  if (!index_only) {
    const bool wanted = call.wants(place);
    if (wanted)
      call.set_result(place,
                      reshaped(b, b.cast("cast", best, dtype), call.result_value(place).shape));
    if (!with_index) return;
  }
  const Tensor index = b.index_along(t, dims);
  const DType reg = register_type(t.dtype);
  const Tensor candidate = b.pointwise("candidate", real ? kPositionOfReal : kPositionOfInteger,
                                       {t, best, index, b.count(t, dims)},
                                       {reg, reg, DType::kInt32, DType::kInt32}, DType::kInt32);
  Tensor first = b.reduce("first", ReduceOp::kMin, candidate, dims, true);
  first = b.cast("cast", first, DType::kInt64);
  const size_t index_place = index_only ? 0 : 1;
  if (call.wants(index_place)) {
    call.set_result(index_place,
                    reshaped(b, std::move(first), call.result_value(index_place).shape));
  }
}

// Gives (sum of |x|^p)^(1/p): for p = 0 the number of nonzeros, for an infinite p an extremum.
void give_vector_norm(Builder& b, Call& call, const std::string& order) {
  const Tensor t = b.cast("cast", call.operand("self"), call.result_value().dtype);
  const std::vector<int> dims = call.dims_argument("dim", t.rank());
  const double p = call.number(order, 2);
  const DType type = register_type(t.dtype);
  const bool wide = type == DType::kFloat64;
  auto summed = [&](const char* name, const std::string& expression, std::vector<Tensor> operands) {
    return b.reduce(name, ReduceOp::kSum,
                    b.pointwise("term", expression, std::move(operands), type), dims, true);
  };
  auto exponent = [&](double value) {
    return b.constant(std::string("tl.full((), ") + literal(value, DType::kFloat32) + ", " +
                          std::string(triton_name(type)) + ")",
                      type);
  };
  Tensor out;
  if (p == 2) {
    out = summed("square_sum", "{0} * {0}", {t});
    out = b.pointwise("norm", wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})", {out}, t.dtype);
  } else if (p == 0) {
    out = summed("nonzeros",
                 "tl.where({0} == 0.0, 0.0, 1.0).to(" + std::string(triton_name(type)) + ")", {t});
  } else if (p == 1) {
    out = summed("norm", "tl.abs({0})", {t});
  } else if (std::isinf(p)) {
    const ReduceOp op = p > 0 ? ReduceOp::kMaximum : ReduceOp::kMinimum;
    out = b.reduce("norm", op, b.pointwise("magnitude", "tl.abs({0})", {t}, type), dims, true);
  } else {
    if (p == 3) {
      out = summed("power_sum", "{0} * {0} * tl.abs({0})", {t});
    } else {
      out = summed("power_sum", "libdevice.pow(tl.abs({0}), {1})", {t, exponent(p)});
    }
    out = b.pointwise("norm", "libdevice.pow({0}, {1})", {out, exponent(1 / p)}, type);
  }
  out.dtype = t.dtype;
  call.set_result(0, reshaped(b, std::move(out), call.result_value().shape));
}

Tensor shifted_exp(Builder& b, const Tensor& t, int dim, Tensor* shifted) {
  const DType type = register_type(t.dtype);
  const Tensor top = b.reduce("row_max", ReduceOp::kMax, t, {dim}, true);
  *shifted = b.pointwise("shifted", "{0} - {1}", {t, top}, type);
  return b.pointwise("numerator", "tl.exp({0})", {*shifted}, type);
}

void lower_mean(Builder& b, Call& call) {
  const Tensor t = b.cast("cast", call.operand("self"), call.result_value().dtype);
  if (!is_floating(t.dtype)) throw Refusal{"a mean of integers"};
  const std::vector<int> over = call.dims_argument("dim", t.rank());
  call.set_result(0, mean_of(b, t, over, call.flag("keepdim", false)));
}

void lower_amax(Builder& b, Call& call) { give_extremum(b, call, true, false, false, 0); }
void lower_amin(Builder& b, Call& call) { give_extremum(b, call, false, false, false, 0); }
void lower_max_dim(Builder& b, Call& call) { give_extremum(b, call, true, true, false, 0); }
void lower_min_dim(Builder& b, Call& call) { give_extremum(b, call, false, true, false, 0); }
void lower_argmax(Builder& b, Call& call) { give_extremum(b, call, true, false, true, 0); }
void lower_argmin(Builder& b, Call& call) { give_extremum(b, call, false, false, true, 0); }

void lower_aminmax(Builder& b, Call& call) {
  give_extremum(b, call, false, false, false, 0);
  give_extremum(b, call, true, false, false, 1);
}

void lower_var(Builder& b, Call& call) { give_variance(b, call, false, false); }
void lower_std(Builder& b, Call& call) { give_variance(b, call, true, false); }
void lower_var_mean(Builder& b, Call& call) { give_variance(b, call, false, true); }
void lower_std_mean(Builder& b, Call& call) { give_variance(b, call, true, true); }

void lower_any(Builder& b, Call& call) { give_any_or_all(b, call, true); }
void lower_all(Builder& b, Call& call) { give_any_or_all(b, call, false); }

void lower_norm(Builder& b, Call& call) { give_vector_norm(b, call, "p"); }
void lower_linalg_vector_norm(Builder& b, Call& call) { give_vector_norm(b, call, "ord"); }

void lower_softmax(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  const Tensor t = b.use(b.cast("cast", call.operand("self"), dtype));
  const int dim = call.wrap(call.integer("dim", -1), t.rank());
  Tensor shifted;
  const Tensor numerator = shifted_exp(b, t, dim, &shifted);
  const Tensor sum = b.reduce("denominator", ReduceOp::kSum, numerator, {dim}, true);
  call.set_result(0, b.pointwise("softmax", "{0} / {1}", {numerator, sum}, dtype));
}

void lower_log_softmax(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  const Tensor t = b.use(b.cast("cast", call.operand("self"), dtype));
  const int dim = call.wrap(call.integer("dim", -1), t.rank());
  Tensor shifted;
  const Tensor numerator = shifted_exp(b, t, dim, &shifted);
  const Tensor sum = b.reduce("denominator", ReduceOp::kSum, numerator, {dim}, true);
  const Tensor size = b.pointwise("log_sum", "tl.log({0})", {sum}, dtype);
  call.set_result(0, b.pointwise("log_softmax", "{0} - {1}", {shifted, size}, dtype));
}

constexpr LoweringRule kReductionRules[] = {
    {"aten._log_softmax", lower_log_softmax},
    {"aten._softmax", lower_softmax},
    {"aten.all", lower_all},
    {"aten.amax", lower_amax},
    {"aten.amin", lower_amin},
    {"aten.aminmax", lower_aminmax},
    {"aten.any", lower_any},
    {"aten.argmax", lower_argmax},
    {"aten.argmin", lower_argmin},
    {"aten.count_nonzero", lower_sum_or_product},
    {"aten.linalg_vector_norm", lower_linalg_vector_norm},
    {"aten.log_softmax", lower_log_softmax},
    {"aten.logsumexp", lower_logsumexp},
    {"aten.max.default", lower_amax},
    {"aten.max.dim", lower_max_dim},
    {"aten.mean", lower_mean},
    {"aten.min.default", lower_amin},
    {"aten.min.dim", lower_min_dim},
    {"aten.nansum", lower_sum_or_product},
    {"aten.norm", lower_norm},
    {"aten.prod", lower_sum_or_product},
    {"aten.softmax", lower_softmax},
    {"aten.std", lower_std},
    {"aten.std_mean", lower_std_mean},
    {"aten.sum", lower_sum_or_product},
    {"aten.var", lower_var},
    {"aten.var_mean", lower_var_mean},
};

}  // namespace

std::span<const LoweringRule> reduction_rules() { return kReductionRules; }

}  // namespace kw::teacher
