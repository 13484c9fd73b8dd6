#include "runtime/executor/kernel_arithmetic.h"

#include <cmath>

#include "ops/operator.h"
#include "program/cost.h"
#include "runtime/executor/accumulator.h"
#include "runtime/executor/makers.h"
#include "runtime/executor/tf32.h"

namespace kw {
namespace {

// How many terms an element of a product in float32 sums; 0 of other results.
double summed_terms(const Program& program, const AtenCall& call) {
  if (call.results.size() != 1 || call.results[0] < 0 || !call.mutated.empty()) return 0;
  const Value& product = program.values[call.results[0]];
  if (product.dtype != DType::kFloat32 || product.numel() == 0) return 0;
  return step_cost(program, call).flops / (2 * static_cast<double>(product.numel()));
}

bool is_arithmetic(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  return row && is_computing(work_row(*row).cls) && work_row(*row).cls != OpClass::kCopy;
}

// Where an operator jumps on values that were computed: of others, nobody is unsure.
std::optional<Jump> near_jump(const Program& program, const AtenCall& call) {
  if (call.results.size() != 1 || !call.mutated.empty()) return std::nullopt;
  const std::optional<Jump> jump = jump_of(program, call, call.results[0]);
  if (!jump) return jump;
  const DType computed = program.values[call.find("self")->value()].dtype;
  if (computed != DType::kFloat32 && computed != DType::kFloat64) return std::nullopt;
  const AtenCall* maker = maker_of(program, call.find("self")->value());
  while (maker && !is_arithmetic(*maker)) {
    const Arg* self = maker->find("self");
    maker = self && self->is_value() ? maker_of(program, self->value()) : nullptr;
  }
  return maker ? jump : std::nullopt;
}

}  // namespace

std::optional<KernelArithmetic> KernelArithmetic::of(const Program& program, const AtenCall& step) {
  const OperatorRow* row = find_operator(step.op);
  if (!row) return std::nullopt;
  KernelArithmetic out;
  if (row->cls == OpClass::kConv) {
    out.kind_ = Kind::kConvolution;
  } else if (row->numerics == Numerics::kExponential) {
    out.kind_ = Kind::kExponential;
  } else if (const auto jump = near_jump(program, step)) {
    out.kind_ = Kind::kRounding;
    out.jump_ = *jump;
  } else if (row->numerics == Numerics::kMatmul && summed_terms(program, step) >= kLongSum) {
    out.kind_ = Kind::kLongSum;
    out.terms_ = summed_terms(program, step);
    for (const auto& [name, arg] : step.args) {
      if (arg.is_value() && arg.value() >= 0) out.operands_.push_back(arg.value());
    }
    return out;
  } else {
    return std::nullopt;
  }
  for (const char* name : {"self", "input", "weight"}) {
    const Arg* arg = step.find(name);
    if (arg && arg->is_value() && arg->value() >= 0) out.operands_.push_back(arg->value());
  }
  return out;
}

at::Tensor KernelArithmetic::changed(const at::Tensor& operand) const {
  switch (kind_) {
    case Kind::kConvolution:
      return rounded_to_tf32(operand);
    case Kind::kExponential:
      if (operand.scalar_type() != at::kFloat) return operand;
      return at::nextafter(operand, at::full({}, INFINITY, operand.options()));
    case Kind::kRounding:
      return beyond_near_jumps(jump_, operand);
    case Kind::kLongSum:
      return operand.is_floating_point() ? operand.square() : operand;
  }
  return operand;
}

std::vector<at::Tensor> KernelArithmetic::run(const OperatorCall& call,
                                              std::span<const at::Tensor> slots) const {
  std::vector<at::Tensor> other(slots.begin(), slots.end());
  for (ValueId id : operands_) other[id] = changed(slots[id]);
  if (kind_ != Kind::kLongSum) return call.run(other);
  std::vector<at::Tensor> products = call.run(slots);
  products[0] = summed_by_one_accumulator(products[0], call.run(other)[0], terms_);
  return products;
}

}  // namespace kw
