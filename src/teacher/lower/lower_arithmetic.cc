// Pointwise operators whose formula depends on their arguments: quotients that round, remainders,
// bounds that are tensors, logarithms of zero.
#include <cmath>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

namespace {

// 65504 for float16: what replaces an infinity.
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

// Whether a number in a register has its sign bit set: -0.0 has.
std::string negative(const std::string& text, DType dtype) {
  if (!is_floating(dtype)) return text + " < 0";
  return text + (dtype == DType::kFloat64 ? ".to(tl.int64" : ".to(tl.float32).to(tl.int32") +
         ", bitcast=True) < 0";
}

}  // namespace

// A tensor as PyTorch holds it, or a number.
Tensor Lowering::operand_or_number(std::string_view name) {
  const Arg* a = arg(name);
  if (a && a->is_value()) return as_stored(cast("cast", tensor(*a), result_value().dtype));
  const DType reg = register_type(result_value().dtype);
  return constant(
      "tl.full((), " + literal(number(name, 0), reg) + ", " + std::string(triton_name(reg)) + ")",
      reg);
}

bool Lowering::arithmetic(const std::string& base) {
  if (base == "aten.floor_divide" ||
      (base == "aten.div" && arg("rounding_mode") && !arg("rounding_mode")->is_none())) {
    rounded_quotient();
  } else if (base == "aten.div" && arg("rounding_mode")) {
    set_result(
        0, pointwise("div", "{0} / {1}", {operand_or_number("self"), operand_or_number("other")},
                     result_value().dtype));
  } else if (base == "aten.fmod" ||
             (base == "aten.remainder" &&
              (call_->op != "aten.remainder.Scalar" || is_floating(result_value().dtype)))) {
    remainder(base == "aten.fmod");
  } else if (call_->op == "aten.clamp.Tensor") {
    clamp_between_tensors();
  } else if (base == "aten.nan_to_num" && is_floating(result_value().dtype)) {
    const DType dtype = result_value().dtype, reg = register_type(dtype);
    auto given = [&](const char* name, const std::string& otherwise) {
      return present(name) ? literal(*arg(name), reg) : otherwise;
    };
    set_result(0,
               pointwise("number",
                         "tl.where({0} != {0}, " + given("nan", "0.0") +
                             ", tl.where({0} == float('inf'), " + given("posinf", largest(dtype)) +
                             ", tl.where({0} == -float('inf'), " +
                             given("neginf", "-" + largest(dtype)) + ", {0})))",
                         {as_stored(operand("self"))}, dtype));
  } else if (base == "aten.xlogy") {
    set_result(0, pointwise("xlogy",
                            "tl.where({1} != {1}, {1}, tl.where({0} == 0.0, 0.0, {0} * "
                            "tl.log({1})))",
                            {operand_or_number("self"), operand_or_number("other")},
                            result_value().dtype));
  } else if (base == "aten.signbit") {
    const Tensor self = as_stored(operand("self"));
    set_result(0, cast("cast",
                       pointwise("negative", "tl.where(" + negative("{0}", self.dtype) + ", 1, 0)",
                                 {self}, self.dtype),
                       DType::kBool));
  } else if (base == "aten.copysign") {
    const DType dtype = result_value().dtype;
    const Tensor self = operand_or_number("self");
    if (const Arg* other = arg("other"); !other->is_value()) {
      const bool minus = std::signbit(number("other", 0));
      set_result(0, pointwise("signed", minus ? "-tl.abs({0})" : "tl.abs({0})", {self}, dtype));
      return true;
    }
    const Tensor sign = operand_or_number("other");
    set_result(0, pointwise("signed",
                            "tl.where((" + negative("{0}", self.dtype) + ") != (" +
                                negative("{1}", sign.dtype) + "), -{0}, {0})",
                            {self, sign}, dtype));
  } else if (base == "aten.logit") {
    const DType dtype = result_value().dtype;
    std::string share = "{0}";
    if (present("eps")) {
      const double eps = number("eps", 0);
      const DType reg = register_type(dtype);
      const std::string low = literal(eps, reg), high = literal(1 - eps, reg);
      share = "tl.where({0} < " + low + ", " + low + ", tl.where({0} > " + high + ", " + high +
              ", {0}))";
    }
    const Tensor bounded = pointwise("share", share, {operand_or_number("self")}, dtype);
    set_result(0, pointwise("logit", "tl.log({0} / (1.0 - {0}))", {bounded}, dtype));
  } else if (call_->op == "aten.round.decimals") {
    const int64_t decimals = integer("decimals", 0);
    std::string scale = "1";
    for (int64_t i = 0; i < std::abs(decimals); ++i) scale += "0";
    scale += ".0";
    set_result(0, pointwise("round",
                            decimals < 0 ? "libdevice.rint({0} / " + scale + ") * " + scale
                                         : "libdevice.rint({0} * " + scale + ") / " + scale,
                            {as_stored(operand("self"))}, result_value().dtype));
  } else {
    return false;
  }
  return true;
}

// As PyTorch defines it: the remainder first, so that 6 // 3 is 2 whatever the division rounds to.
void Lowering::rounded_quotient() {
  const DType dtype = result_value().dtype, reg = register_type(dtype);
  const Tensor a = operand_or_number("self"), b = operand_or_number("other");
  const Arg* mode = arg("rounding_mode");  // floor_divide has none
  const bool floor = !mode || mode->v == decltype(Arg::v)(std::string("floor"));
  if (!is_floating(dtype)) {
    if (dtype_bytes(dtype) < 4) throw Refusal{"a quotient of narrow integers"};
    // Integers divide towards zero, the remainder has the dividend's sign.
    set_result(
        0, pointwise("quotient", floor ? "({0} - ({0} % {1} + {1}) % {1}) // {1}" : "{0} // {1}",
                     {a, b}, dtype));
    return;
  }
  const std::string divided = reg == DType::kFloat32 ? "tl.div_rn({0}, {1})" : "{0} / {1}";
  const Tensor quotient = pointwise("quotient", divided, {a, b}, reg);
  if (!floor) {
    set_result(0, pointwise("truncated", "libdevice.trunc({0})", {quotient}, dtype));
    return;
  }
  const Tensor rest = pointwise("rest", "libdevice.fmod({0}, {1})", {a, b}, reg);
  const std::string part =
      reg == DType::kFloat32 ? "tl.div_rn({0} - {2}, {1})" : "({0} - {2}) / {1}";
  const Tensor whole = pointwise(
      "whole", part + " - tl.where(({2} != 0.0) & (({1} < 0.0) != ({2} < 0.0)), 1.0, 0.0)",
      {a, b, rest}, reg);
  set_result(0, pointwise("floored",
                          "tl.where({1} == 0.0, {2}, tl.floor({0}) + tl.where({0} - tl.floor({0}) "
                          "> 0.5, 1.0, 0.0))",
                          {whole, b, quotient}, dtype));
}

// fmod has the sign of the dividend, remainder that of the divisor.
void Lowering::remainder(bool dividends_sign) {
  const DType dtype = result_value().dtype, reg = register_type(dtype);
  const Tensor a = operand_or_number("self"), b = operand_or_number("other");
  if (!is_floating(dtype)) {
    if (dtype_bytes(dtype) < 4) throw Refusal{"a remainder of narrow integers"};
    set_result(0, pointwise("remainder", dividends_sign ? "{0} % {1}" : "({0} % {1} + {1}) % {1}",
                            {a, b}, dtype));
    return;
  }
  const Tensor rest = pointwise("rest", "libdevice.fmod({0}, {1})", {a, b}, reg);
  set_result(0, dividends_sign
                    ? cast("cast", rest, dtype)
                    : pointwise("remainder",
                                "tl.where(({0} != 0.0) & (({1} < 0.0) != ({0} < 0.0)), {0} + {1}, "
                                "{0})",
                                {rest, b}, dtype));
}

void Lowering::clamp_between_tensors() {
  const DType dtype = result_value().dtype;
  const std::string nan =
      is_floating(dtype) ? ", propagate_nan=tl.PropagateNan.ALL)" : std::string(")");
  Tensor t = operand("self");
  if (present("min")) {
    t = pointwise("clamp", "tl.maximum({0}, {1}" + nan, {std::move(t), operand("min")}, dtype);
  }
  if (present("max")) {
    t = pointwise("clamp", "tl.minimum({0}, {1}" + nan, {std::move(t), operand("max")}, dtype);
  }
  set_result(0, std::move(t));
}

}  // namespace kw::teacher
