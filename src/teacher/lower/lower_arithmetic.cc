// Pointwise operators whose formula depends on their arguments: rounded quotients, remainders,
// bounds that are tensors, logarithms of zero.
#include <cmath>
#include <cstdlib>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Returns what replaces an infinity: 65504 for float16.
std::string largest(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return "65504.0";
    case DType::kBFloat16:
      return "3.3895313892515355e+38";
    case DType::kFloat32:
      return "3.4028234663852886e+38";
    default:
      return "1.7976931348623157e+308";
  }
}

// Returns code that asks whether a register's sign bit is set: that of -0.0 is.
std::string negative(const std::string& text, DType dtype) {
  if (!is_floating(dtype)) return text + " < 0";
  return text + (dtype == DType::kFloat64 ? ".to(tl.int64" : ".to(tl.float32).to(tl.int32") +
         ", bitcast=True) < 0";
}

// Returns a tensor as PyTorch holds it, or a number as a tensor.
Tensor operand_or_number(Builder& b, Call& call, std::string_view name) {
  const Arg* a = call.arg(name);
  const DType dtype = call.result_value().dtype, reg = register_type(dtype);
  if (a && a->is_value()) return b.as_stored(b.cast("cast", call.tensor(*a), dtype));
  return b.scalar(literal(call.number(name, 0), reg), reg);
}

// PyTorch takes the remainder first, so 6 // 3 is 2 however the division is rounded.
void give_rounded_quotient(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype, reg = register_type(dtype);
  const Tensor x = operand_or_number(b, call, "self"), y = operand_or_number(b, call, "other");
  const Arg* mode = call.arg("rounding_mode");  // floor_divide has none
  const bool floor = !mode || mode->v == decltype(Arg::v)(std::string("floor"));
  if (!is_floating(dtype)) {
    if (dtype_bytes(dtype) < 4) throw Refusal{"a quotient of narrow integers"};
    // Integers divide towards zero, the remainder has the dividend's sign.
    call.set_result(
        0, b.pointwise("quotient", floor ? "({0} - ({0} % {1} + {1}) % {1}) // {1}" : "{0} // {1}",
                       {x, y}, dtype));
    return;
  }
  const std::string divided = reg == DType::kFloat32 ? "tl.div_rn({0}, {1})" : "{0} / {1}";
  const Tensor quotient = b.pointwise("quotient", divided, {x, y}, reg);
  if (!floor) {
    call.set_result(0, b.pointwise("truncated", "libdevice.trunc({0})", {quotient}, dtype));
    return;
  }
  const Tensor rest = b.pointwise("rest", "libdevice.fmod({0}, {1})", {x, y}, reg);
  const std::string part =
      reg == DType::kFloat32 ? "tl.div_rn({0} - {2}, {1})" : "({0} - {2}) / {1}";
  const Tensor whole = b.pointwise(
      "whole", part + " - tl.where(({2} != 0.0) & (({1} < 0.0) != ({2} < 0.0)), 1.0, 0.0)",
      {x, y, rest}, reg);
  call.set_result(
      0, b.pointwise("floored",
                     "tl.where({1} == 0.0, {2}, tl.floor({0}) + tl.where({0} - tl.floor({0}) "
                     "> 0.5, 1.0, 0.0))",
                     {whole, y, quotient}, dtype));
}

// fmod has the sign of the dividend, remainder that of the divisor.
void give_remainder(Builder& b, Call& call, bool dividends_sign) {
  const DType dtype = call.result_value().dtype, reg = register_type(dtype);
  const Tensor x = operand_or_number(b, call, "self"), y = operand_or_number(b, call, "other");
  if (!is_floating(dtype)) {
    if (dtype_bytes(dtype) < 4) throw Refusal{"a remainder of narrow integers"};
    call.set_result(
        0, b.pointwise("remainder", dividends_sign ? "{0} % {1}" : "({0} % {1} + {1}) % {1}",
                       {x, y}, dtype));
    return;
  }
  const Tensor rest = b.pointwise("rest", "libdevice.fmod({0}, {1})", {x, y}, reg);
  call.set_result(
      0, dividends_sign
             ? b.cast("cast", rest, dtype)
             : b.pointwise("remainder",
                           "tl.where(({0} != 0.0) & (({1} < 0.0) != ({0} < 0.0)), {0} + {1}, "
                           "{0})",
                           {rest, y}, dtype));
}

void lower_clamp_tensors(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  const std::string nan =
      is_floating(dtype) ? ", propagate_nan=tl.PropagateNan.ALL)" : std::string(")");
  Tensor t = call.operand("self");
  if (call.present("min")) {
    t = b.pointwise("clamp", "tl.maximum({0}, {1}" + nan, {std::move(t), call.operand("min")},
                    dtype);
  }
  if (call.present("max")) {
    t = b.pointwise("clamp", "tl.minimum({0}, {1}" + nan, {std::move(t), call.operand("max")},
                    dtype);
  }
  call.set_result(0, std::move(t));
}

void lower_div(Builder& b, Call& call) {
  const Arg* mode = call.arg("rounding_mode");
  if (!mode) return lower_table_expression(b, call);
  if (!mode->is_none()) return give_rounded_quotient(b, call);
  call.set_result(
      0, b.pointwise("div", "{0} / {1}",
                     {operand_or_number(b, call, "self"), operand_or_number(b, call, "other")},
                     call.result_value().dtype));
}

void lower_fmod(Builder& b, Call& call) { give_remainder(b, call, true); }
void lower_remainder(Builder& b, Call& call) { give_remainder(b, call, false); }

// The remainder of a tensor and a number has the sign of the number.
void lower_remainder_scalar(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  if (is_floating(dtype)) return lower_remainder(b, call);
  if (!is_integral(dtype)) return lower_table_expression(b, call);
  const std::string by = call.literal(*call.arg("other"), dtype);
  std::string expression = "({0} % " + by + " + " + by + ") % " + by;
  if (by == "0") throw Refusal{"a remainder of zero"};
  if (dtype_bytes(dtype) < 4) {
    expression = "(" + expression + ").to(" + std::string(triton_name(dtype)) + ")";
  }
  call.set_result(0, b.pointwise("remainder", expression, {call.operand("self")}, dtype));
}

void lower_nan_to_num(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype, reg = register_type(dtype);
  if (!is_floating(dtype)) return lower_table_expression(b, call);
  auto given = [&](const char* name, const std::string& otherwise) {
    return call.present(name) ? call.literal(*call.arg(name), reg) : otherwise;
  };
  const std::string expression =
      "tl.where({0} != {0}, " + given("nan", "0.0") + ", tl.where({0} == float('inf'), " +
      given("posinf", largest(dtype)) + ", tl.where({0} == -float('inf'), " +
      given("neginf", "-" + largest(dtype)) + ", {0})))";
  call.set_result(0, b.pointwise("number", expression, {b.as_stored(call.operand("self"))}, dtype));
}

void lower_xlogy(Builder& b, Call& call) {
  call.set_result(
      0, b.pointwise("xlogy",
                     "tl.where({1} != {1}, {1}, tl.where({0} == 0.0, 0.0, {0} * tl.log({1})))",
                     {operand_or_number(b, call, "self"), operand_or_number(b, call, "other")},
                     call.result_value().dtype));
}

void lower_signbit(Builder& b, Call& call) {
  const Tensor self = b.as_stored(call.operand("self"));
  const Tensor bit = b.pointwise("negative", "tl.where(" + negative("{0}", self.dtype) + ", 1, 0)",
                                 {self}, self.dtype);
  call.set_result(0, b.cast("cast", bit, DType::kBool));
}

void lower_copysign(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  const Tensor self = operand_or_number(b, call, "self");
  if (!call.arg("other")->is_value()) {
    const bool minus = std::signbit(call.number("other", 0));
    const char* const expression = minus ? "-tl.abs({0})" : "tl.abs({0})";
    return call.set_result(0, b.pointwise("signed", expression, {self}, dtype));
  }
  const Tensor sign = operand_or_number(b, call, "other");
  call.set_result(0, b.pointwise("signed",
                                 "tl.where((" + negative("{0}", self.dtype) + ") != (" +
                                     negative("{1}", sign.dtype) + "), -{0}, {0})",
                                 {self, sign}, dtype));
}

void lower_logit(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  std::string share = "{0}";
  if (call.present("eps")) {
    const double eps = call.number("eps", 0);
    const DType reg = register_type(dtype);
    const std::string low = literal(eps, reg), high = literal(1 - eps, reg);
    share =
        "tl.where({0} < " + low + ", " + low + ", tl.where({0} > " + high + ", " + high + ", {0}))";
  }
  const Tensor bounded = b.pointwise("share", share, {operand_or_number(b, call, "self")}, dtype);
  call.set_result(0, b.pointwise("logit", "tl.log({0} / (1.0 - {0}))", {bounded}, dtype));
}

void lower_round_decimals(Builder& b, Call& call) {
  const int64_t decimals = call.integer("decimals", 0);
  std::string scale = "1";
  for (int64_t i = 0; i < std::abs(decimals); ++i) scale += "0";
  scale += ".0";
  call.set_result(0, b.pointwise("round",
                                 decimals < 0 ? "libdevice.rint({0} / " + scale + ") * " + scale
                                              : "libdevice.rint({0} * " + scale + ") / " + scale,
                                 {b.as_stored(call.operand("self"))}, call.result_value().dtype));
}

constexpr LoweringRule kArithmeticRules[] = {
    {"aten.clamp.Tensor", lower_clamp_tensors},
    {"aten.copysign", lower_copysign},
    {"aten.div", lower_div},
    {"aten.floor_divide", give_rounded_quotient},
    {"aten.fmod", lower_fmod},
    {"aten.logit", lower_logit},
    {"aten.nan_to_num", lower_nan_to_num},
    {"aten.remainder", lower_remainder},
    {"aten.remainder.Scalar", lower_remainder_scalar},
    {"aten.round.decimals", lower_round_decimals},
    {"aten.signbit", lower_signbit},
    {"aten.xlogy", lower_xlogy},
};

}  // namespace

std::span<const LoweringRule> arithmetic_rules() { return kArithmeticRules; }

}  // namespace kw::teacher
