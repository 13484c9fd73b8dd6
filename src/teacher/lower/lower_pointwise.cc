// Pointwise operators: the expression column of the operator table, and the few operators whose
// expression depends on their arguments.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

namespace {

template <size_t N>
bool among(std::string_view name, const char* const (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Exact on integers as written in the table (no division, no float literals).
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

// torch.result_type's rule for two priority classes; `lower` counts only where it is of a higher
// category.
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

}  // namespace

// torch.result_type over the tensors and numbers an operator computes with.
DType Lowering::compute_type(const std::vector<std::string>& tensors,
                             const std::vector<std::string>& scalars) const {
  std::optional<DType> with_dims, without, numbers;
  auto join = [](std::optional<DType>& into, DType dtype) {
    into = into ? promote(*into, dtype) : dtype;
  };
  for (const std::string& name : tensors) {
    const Value& value = program_.values[arg(name)->value()];
    join(value.shape.empty() ? without : with_dims, value.dtype);
  }
  for (const std::string& name : scalars) {
    const Arg* a = arg(name);
    if (!a) continue;
    if (std::holds_alternative<double>(a->v)) join(numbers, DType::kFloat32);
    if (std::holds_alternative<int64_t>(a->v)) join(numbers, DType::kInt64);
    if (std::holds_alternative<bool>(a->v)) join(numbers, DType::kBool);
  }
  return combine(with_dims, combine(without, numbers)).value_or(DType::kFloat32);
}

bool Lowering::elementwise() {
  if (special_elementwise(call_->op)) return true;
  const OperatorRow* row = find_operator(call_->op);
  if (!row || row->cls != OpClass::kPointwise || row->triton.empty()) return false;
  table_expression(*row);
  return true;
}

void Lowering::table_expression(const OperatorRow& row) {
  const std::string base = call_->op.substr(0, call_->op.rfind('.'));
  std::string expression(row.triton);
  std::vector<std::string> tensors, scalars;
  for (const SchemaArg& a : operator_schema(row).args) {
    if (expression.find("{" + a.name + "}") == std::string::npos) continue;
    const Arg* given = arg(a.name);
    if (given && given->is_value()) {
      if (a.name != "condition" && a.name != "mask") tensors.push_back(a.name);
    } else {
      scalars.push_back(a.name);
    }
  }
  const Value& result = result_value();
  DType compute = result.dtype;
  if (result.dtype == DType::kBool) compute = compute_type(tensors, scalars);
  if (compute == DType::kBool && !among(base, kBoolOps)) throw Refusal{base + " on bool"};
  if (is_integral(compute) && result.dtype != DType::kBool && !among(base, kIntegerOps)) {
    throw Refusal{base + " on integers"};
  }
  const DType reg = register_type(compute);
  if (reg == DType::kFloat64) replace_all(expression, "tl.sqrt_rn", "tl.sqrt");
  if (!is_floating(reg)) replace_all(expression, ", propagate_nan=tl.PropagateNan.ALL", "");

  // Comparisons and roundings jump, so they see values as PyTorch stores them.
  const bool jumps = result.dtype == DType::kBool || among(base, kJumps);
  std::vector<Tensor> operands;
  std::vector<DType> types;
  for (const SchemaArg& a : operator_schema(row).args) {
    const std::string slot = "{" + a.name + "}";
    if (expression.find(slot) == std::string::npos) continue;
    const Arg* given = arg(a.name);
    if (given && given->is_value()) {
      Tensor t = tensor(*given);
      if (jumps) t = as_stored(std::move(t));
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
      replace_all(expression, slot, literal(value, reg));
    }
  }
  if (operands.empty()) throw Refusal{base + " without a tensor"};
  const DType out = result.dtype;
  if (is_integral(out) && dtype_bytes(out) < 4) {  // literals may have widened it
    expression = "(" + expression + ").to(" + std::string(triton_name(out)) + ")";
  }
  set_result(0, pointwise(hint(call_->op), expression, std::move(operands), std::move(types), out));
}

bool Lowering::special_elementwise(const std::string& op) {
  auto real_result = [&] {
    const DType dtype = result_value().dtype;
    if (!is_floating(dtype)) throw Refusal{op + " on integers"};
    return dtype;
  };
  const std::string self = "self";
  if (op == "aten.gelu.default") {
    const DType dtype = real_result();
    const Arg* how = arg("approximate");
    const bool tanh = how && how->v == decltype(Arg::v)(std::string("tanh"));
    const std::string expression =
        tanh ? "0.5 * {0} * (1.0 + libdevice.tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * "
               "{0} * {0})))"
             : "0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476))";
    set_result(0, pointwise("gelu", expression, {operand(self)}, dtype));
  } else if (op == "aten.clamp.default") {
    const DType dtype = result_value().dtype;
    const DType reg = register_type(dtype);
    const std::string nan = is_floating(reg) ? ", propagate_nan=tl.PropagateNan.ALL)" : ")";
    std::string expression = "{0}";
    if (present("min"))
      expression = "tl.maximum(" + expression + ", " + literal(*arg("min"), reg) + nan;
    if (present("max"))
      expression = "tl.minimum(" + expression + ", " + literal(*arg("max"), reg) + nan;
    if (is_integral(dtype) && dtype_bytes(dtype) < 4) {
      expression = "(" + expression + ").to(" + std::string(triton_name(dtype)) + ")";
    }
    set_result(0, pointwise("clamp", expression, {operand(self)}, dtype));
  } else if (op == "aten.pow.Tensor_Scalar") {
    const DType dtype = real_result();
    const double e = number("exponent", 1);
    const bool wide = register_type(dtype) == DType::kFloat64;
    const std::string root = wide ? "tl.sqrt({0})" : "tl.sqrt_rn({0})";
    const std::string expression = e == 1      ? "{0}"
                                   : e == 2    ? "{0} * {0}"
                                   : e == 3    ? "{0} * {0} * {0}"
                                   : e == 0.5  ? root
                                   : e == -0.5 ? "tl.rsqrt({0})"
                                   : e == -1   ? "1.0 / {0}"
                                   : e == -2   ? "1.0 / ({0} * {0})"
                                               : "libdevice.pow({0}, {1})";
    std::vector<Tensor> operands = {operand(self)};
    if (expression.find("{1}") != std::string::npos) {
      operands.push_back(constant("tl.full((), " + literal(e, DType::kFloat32) + ", " +
                                      std::string(triton_name(register_type(dtype))) + ")",
                                  register_type(dtype)));
    }
    set_result(0, pointwise("pow", expression, std::move(operands), dtype));
  } else if ((op == "aten.maximum.default" || op == "aten.minimum.default") &&
             result_value().dtype == DType::kBool) {
    set_result(0, pointwise(hint(op), op == "aten.maximum.default" ? "{0} | {1}" : "{0} & {1}",
                            {operand(self), operand("other")}, DType::kBool));
  } else if (op == "aten.relu.default" && is_integral(result_value().dtype)) {
    const DType dtype = result_value().dtype;
    const std::string type(triton_name(dtype));
    set_result(0, pointwise("relu", "tl.maximum({0}, 0).to(" + type + ")", {operand(self)}, dtype));
  } else if (op == "aten.sign.default") {
    set_result(0, pointwise("sign", "tl.where({0} > 0.0, 1.0, 0.0) - tl.where({0} < 0.0, 1.0, 0.0)",
                            {as_stored(operand(self))}, real_result()));
  } else if (op == "aten.log_sigmoid_forward.default") {
    set_result(
        0, pointwise("log_sigmoid", "tl.minimum({0}, 0.0) - libdevice.log1p(tl.exp(-tl.abs({0})))",
                     {operand(self)}, real_result()));
  } else if (op == "aten.remainder.Scalar" && is_integral(result_value().dtype)) {
    const DType dtype = result_value().dtype;  // the sign is the divisor's
    const std::string by = literal(*arg("other"), dtype);
    std::string expression = "({0} % " + by + " + " + by + ") % " + by;
    if (by == "0") throw Refusal{"a remainder of zero"};
    if (dtype_bytes(dtype) < 4) {
      expression = "(" + expression + ").to(" + std::string(triton_name(dtype)) + ")";
    }
    set_result(0, pointwise("remainder", expression, {operand(self)}, dtype));
  } else if (op == "aten.lerp.Scalar") {
    const DType dtype = real_result();
    const double w = number("weight", 0);
    const std::string expression = w < 0.5
                                       ? "{0} + " + literal(w, DType::kFloat32) + " * ({1} - {0})"
                                       : "{1} - ({1} - {0}) * " + literal(1.0 - w, DType::kFloat32);
    set_result(0, pointwise("lerp", expression, {operand(self), operand("end")}, dtype));
  } else {
    return triangle(op);
  }
  return true;
}

// tril and triu: a comparison of positions.
bool Lowering::triangle(const std::string& op) {
  if (op != "aten.tril.default" && op != "aten.triu.default") return false;
  const Tensor t = use(operand("self"));
  if (t.rank() < 2) throw Refusal{op + " of a vector"};
  const Tensor row = index_along(t, {t.rank() - 2});
  const Tensor column = index_along(t, {t.rank() - 1});
  const int64_t diagonal = integer("diagonal", 0);
  const std::string shift =
      diagonal == 0 ? "" : " + " + literal(static_cast<double>(diagonal), DType::kInt32);
  const std::string order = op == "aten.tril.default" ? " <= " : " >= ";
  const DType reg = register_type(t.dtype);
  const std::string zero = is_floating(reg) ? "0.0" : reg == DType::kBool ? "False" : "0";
  std::string expression = "tl.where({1}" + order + "{0}" + shift + ", {2}, " + zero + ")";
  if (!is_floating(reg) && reg != DType::kInt64 && reg != DType::kInt32) {
    expression += ".to(" + std::string(triton_name(reg)) + ")";
  }
  set_result(0, pointwise(hint(op), expression, {row, column, t},
                          {DType::kInt32, DType::kInt32, reg}, t.dtype));
  return true;
}

}  // namespace kw::teacher
