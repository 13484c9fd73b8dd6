// Pointwise operators: those with an expression in the operator table, and a few whose expression
// depends on their arguments.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "ops/operator.h"
#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

template <size_t N>
bool among(std::string_view name, const char* const (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// The table's expressions of these are exact on integers: no division, no float literals.
const char* const kIntegerOps[] = {"aten.add",
                                   "aten.sub",
                                   "aten.rsub",
                                   "aten.mul",
                                   "aten.neg",
                                   "aten.abs",
                                   "aten.maximum",
                                   "aten.minimum",
                                   "aten.where",
                                   "aten.masked_fill",
                                   "aten.bitwise_not",
                                   "aten.bitwise_and",
                                   "aten.bitwise_or",
                                   "aten.clamp_min",
                                   "aten.clamp_max",
                                   "aten.bitwise_xor",
                                   "aten.__lshift__",
                                   "aten.__rshift__",
                                   "aten.bitwise_left_shift",
                                   "aten.bitwise_right_shift"};
const char* const kBoolOps[] = {"aten.eq",          "aten.ne",          "aten.logical_not",
                                "aten.logical_and", "aten.logical_or",  "aten.bitwise_not",
                                "aten.bitwise_and", "aten.bitwise_or",  "aten.where",
                                "aten.masked_fill", "aten.logical_xor", "aten.bitwise_xor"};
const char* const kLogical[] = {"aten.logical_not", "aten.logical_and", "aten.logical_or",
                                "aten.logical_xor"};
const char* const kJumps[] = {"aten.floor", "aten.ceil", "aten.round",
                              "aten.trunc", "aten.sign", "aten.remainder"};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

enum Category { kBoolean, kInteger, kReal };
Category category(DType dtype) {
  return is_floating(dtype) ? kReal : is_integral(dtype) ? kInteger : kBoolean;
}

// Returns what torch.result_type makes of two priority classes: `lower` counts only if it is of a
// higher category.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return lower;
  if (!lower || category(*lower) <= category(*higher)) {
    if (lower && category(*higher) == kBoolean) return promote(*higher, *lower);
    return higher;
  }
  return promote(*higher, *lower);
}

std::string hint(const std::string& op) {
  const size_t start = op.find('.') + 1;
  std::string name = op.substr(start, op.rfind('.') - start);
  while (!name.empty() && name.front() == '_') name.erase(0, 1);
  return name;
}

// Returns torch.result_type of the tensors and numbers that an operator computes with.
DType compute_type(const Call& call, const std::vector<std::string>& tensors,
                   const std::vector<std::string>& scalars) {
  std::optional<DType> with_dims, without, numbers;
  auto join = [](std::optional<DType>& into, DType dtype) {
    into = into ? promote(*into, dtype) : dtype;
  };
  for (const std::string& name : tensors) {
    const Value& value = call.argument_value(*call.arg(name));
    join(value.shape.empty() ? without : with_dims, value.dtype);
  }
  for (const std::string& name : scalars) {
    const Arg* a = call.arg(name);
    if (!a) continue;
    if (std::holds_alternative<double>(a->v)) join(numbers, DType::kFloat32);
    if (std::holds_alternative<int64_t>(a->v)) join(numbers, DType::kInt64);
    if (std::holds_alternative<bool>(a->v)) join(numbers, DType::kBool);
  }
  return combine(with_dims, combine(without, numbers)).value_or(DType::kFloat32);
}

}  // namespace

void lower_table_expression(Builder& b, Call& call) {
  const OperatorRow& row = *find_operator(call.op());
  if (row.cls != OpClass::kPointwise || row.triton.empty()) throw not_written(call);
  const std::string base = call.base();
  std::string expression(row.triton);
  std::vector<std::string> tensors, scalars;
  for (const SchemaArg& a : operator_schema(row).args) {
    if (expression.find("{" + a.name + "}") == std::string::npos) continue;
    const Arg* given = call.arg(a.name);
    if (given && given->is_value()) {
      if (a.name != "condition" && a.name != "mask") tensors.push_back(a.name);
    } else {
      scalars.push_back(a.name);
    }
  }
  const Value& result = call.result_value();
  DType compute = result.dtype;
  if (result.dtype == DType::kBool) compute = compute_type(call, tensors, scalars);
  if (compute == DType::kBool && !among(base, kBoolOps)) throw Refusal{base + " on bool"};
  if (is_integral(compute) && result.dtype != DType::kBool && !among(base, kIntegerOps)) {
    throw Refusal{base + " on integers"};
  }
  const DType reg = register_type(compute);
  if (reg == DType::kFloat64) replace_all(expression, "tl.sqrt_rn", "tl.sqrt");
  if (!is_floating(reg)) replace_all(expression, ", propagate_nan=tl.PropagateNan.ALL", "");

  // Comparisons and roundings have discontinuities, so they see values as PyTorch stores them.
  const bool jumps = result.dtype == DType::kBool || among(base, kJumps);
  std::vector<Tensor> operands;
  std::vector<DType> types;
  for (const SchemaArg& a : operator_schema(row).args) {
    const std::string slot = "{" + a.name + "}";
    if (expression.find(slot) == std::string::npos) continue;
    const Arg* given = call.arg(a.name);
    if (given && given->is_value()) {
      Tensor t = call.tensor(*given);
      if (jumps) t = b.as_stored(std::move(t));
      const bool condition = a.name == "condition" || a.name == "mask";
      if (condition && t.dtype != DType::kBool) throw Refusal{base + ": a condition not of bool"};
      types.push_back(condition || among(base, kLogical) ? register_type(t.dtype) : reg);
      replace_all(expression, slot, "{" + std::to_string(operands.size()) + "}");
      operands.push_back(std::move(t));
      continue;
    }
    Arg value;
    if (given) {
      value = *given;
    } else {
      value.v = std::strtod(a.default_text.c_str(), nullptr);
    }
    if (const bool one = value == Arg{int64_t{1}} || value == Arg{1.0}; one) {
      replace_all(expression, " * " + slot, "");
    }
    if (expression.find(slot) != std::string::npos) {
      replace_all(expression, slot, call.literal(value, reg));
    }
  }
  if (operands.empty()) throw Refusal{base + " without a tensor"};
  const DType out = result.dtype;
  if (is_integral(out) && dtype_bytes(out) < 4) {  // literals may have widened it
    expression = "(" + expression + ").to(" + std::string(triton_name(out)) + ")";
  }
  call.set_result(
      0, b.pointwise(hint(call.op()), expression, std::move(operands), std::move(types), out));
}

namespace {

// Returns the result's dtype; Refusal if that is no floating type.
DType real_result(const Call& call) {
  const DType dtype = call.result_value().dtype;
  if (!is_floating(dtype)) throw Refusal{call.op() + " on integers"};
  return dtype;
}

void lower_gelu(Builder& b, Call& call) {
  const DType dtype = real_result(call);
  const Arg* how = call.arg("approximate");
  const bool tanh = how && how->v == decltype(Arg::v)(std::string("tanh"));
  const std::string expression =
      tanh ? "0.5 * {0} * (1.0 + libdevice.tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * "
             "{0} * {0})))"
           : "0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476))";
  call.set_result(0, b.pointwise("gelu", expression, {call.operand("self")}, dtype));
}

void lower_clamp(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype, reg = register_type(dtype);
  const std::string nan = is_floating(reg) ? ", propagate_nan=tl.PropagateNan.ALL)" : ")";
  std::string expression = "{0}";
  if (call.present("min")) {
    expression = "tl.maximum(" + expression + ", " + call.literal(*call.arg("min"), reg) + nan;
  }
  if (call.present("max")) {
    expression = "tl.minimum(" + expression + ", " + call.literal(*call.arg("max"), reg) + nan;
  }
  if (is_integral(dtype) && dtype_bytes(dtype) < 4) {
    expression = "(" + expression + ").to(" + std::string(triton_name(dtype)) + ")";
  }
  call.set_result(0, b.pointwise("clamp", expression, {call.operand("self")}, dtype));
}

void lower_pow_scalar(Builder& b, Call& call) {
  const DType dtype = real_result(call), reg = register_type(dtype);
  const double e = call.number("exponent", 1);
  const std::string root = reg == DType::kFloat64 ? "tl.sqrt({0})" : "tl.sqrt_rn({0})";
  const std::string expression = e == 1      ? "{0}"
                                 : e == 2    ? "{0} * {0}"
                                 : e == 3    ? "{0} * {0} * {0}"
                                 : e == 0.5  ? root
                                 : e == -0.5 ? "tl.rsqrt({0})"
                                 : e == -1   ? "1.0 / {0}"
                                 : e == -2   ? "1.0 / ({0} * {0})"
                                             : "libdevice.pow({0}, {1})";
  std::vector<Tensor> operands = {call.operand("self")};
  if (expression.find("{1}") != std::string::npos) {
    operands.push_back(b.scalar(literal(e, DType::kFloat32), reg));
  }
  call.set_result(0, b.pointwise("pow", expression, std::move(operands), dtype));
}

// The larger of two truth values is their disjunction.
void give_extreme_truth(Builder& b, Call& call, const char* expression) {
  if (call.result_value().dtype != DType::kBool) return lower_table_expression(b, call);
  call.set_result(0, b.pointwise(hint(call.op()), expression,
                                 {call.operand("self"), call.operand("other")}, DType::kBool));
}

void lower_maximum(Builder& b, Call& call) { give_extreme_truth(b, call, "{0} | {1}"); }
void lower_minimum(Builder& b, Call& call) { give_extreme_truth(b, call, "{0} & {1}"); }

void lower_relu(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  if (!is_integral(dtype)) return lower_table_expression(b, call);
  const std::string expression = "tl.maximum({0}, 0).to(" + std::string(triton_name(dtype)) + ")";
  call.set_result(0, b.pointwise("relu", expression, {call.operand("self")}, dtype));
}

void lower_sign(Builder& b, Call& call) {
  call.set_result(
      0, b.pointwise("sign", "tl.where({0} > 0.0, 1.0, 0.0) - tl.where({0} < 0.0, 1.0, 0.0)",
                     {b.as_stored(call.operand("self"))}, real_result(call)));
}

void lower_log_sigmoid(Builder& b, Call& call) {
  call.set_result(
      0, b.pointwise("log_sigmoid", "tl.minimum({0}, 0.0) - libdevice.log1p(tl.exp(-tl.abs({0})))",
                     {call.operand("self")}, real_result(call)));
}

void lower_lerp_scalar(Builder& b, Call& call) {
  const DType dtype = real_result(call);
  const double w = call.number("weight", 0);
  const std::string expression = w < 0.5
                                     ? "{0} + " + literal(w, DType::kFloat32) + " * ({1} - {0})"
                                     : "{1} - ({1} - {0}) * " + literal(1.0 - w, DType::kFloat32);
  call.set_result(
      0, b.pointwise("lerp", expression, {call.operand("self"), call.operand("end")}, dtype));
}

// Gives tril or triu: a choice by the order of row and column.
void give_triangle(Builder& b, Call& call, const std::string& order) {
  const Tensor t = b.use(call.operand("self"));
  if (t.rank() < 2) throw Refusal{call.op() + " of a vector"};
  const Tensor row = b.index_along(t, {t.rank() - 2});
  const Tensor column = b.index_along(t, {t.rank() - 1});
  const int64_t diagonal = call.integer("diagonal", 0);
  const std::string shift =
      diagonal == 0 ? "" : " + " + literal(static_cast<double>(diagonal), DType::kInt32);
  const DType reg = register_type(t.dtype);
  const std::string zero = is_floating(reg) ? "0.0" : reg == DType::kBool ? "False" : "0";
  std::string expression = "tl.where({1}" + order + "{0}" + shift + ", {2}, " + zero + ")";
  if (!is_floating(reg) && reg != DType::kInt64 && reg != DType::kInt32) {
    expression += ".to(" + std::string(triton_name(reg)) + ")";
  }
  call.set_result(0, b.pointwise(hint(call.op()), expression, {row, column, t},
                                 {DType::kInt32, DType::kInt32, reg}, t.dtype));
}

void lower_tril(Builder& b, Call& call) { give_triangle(b, call, " <= "); }
void lower_triu(Builder& b, Call& call) { give_triangle(b, call, " >= "); }

constexpr LoweringRule kPointwiseRules[] = {
    {"aten.clamp.default", lower_clamp},
    {"aten.gelu.default", lower_gelu},
    {"aten.lerp.Scalar", lower_lerp_scalar},
    {"aten.log_sigmoid_forward.default", lower_log_sigmoid},
    {"aten.maximum.default", lower_maximum},
    {"aten.minimum.default", lower_minimum},
    {"aten.pow.Tensor_Scalar", lower_pow_scalar},
    {"aten.relu.default", lower_relu},
    {"aten.sign.default", lower_sign},
    {"aten.tril.default", lower_tril},
    {"aten.triu.default", lower_triu},
};

}  // namespace

std::span<const LoweringRule> pointwise_rules() { return kPointwiseRules; }

}  // namespace kw::teacher
