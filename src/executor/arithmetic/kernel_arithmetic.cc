#include "executor/arithmetic/kernel_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "executor/aten/seeds.h"
#include "executor/compare/accumulator.h"
#include "ops/operator.h"
#include "program/cost.h"
#include "program/makers.h"

namespace kw {
namespace {

// How many terms an element of a product in float32 sums; 0 of other results.
double summed_terms(const Program& program, const AtenCall& call) {
  if (call.results.size() != 1 || call.results[0] < 0 || !call.mutated.empty()) return 0;
  const Value& product = program.values[call.results[0]];
  if (product.dtype != DType::kFloat32 || product.numel() == 0) return 0;
  return step_cost(program, call).flops / (2 * static_cast<double>(product.numel()));
}

// The most terms that a product behind a value sums.
double terms_behind(const Program& program, ValueId id, std::set<ValueId>& seen) {
  if (id < 0 || !seen.insert(id).second) return 0;
  const AtenCall* call = maker_of(program, id);
  if (!call) return 0;
  const OperatorRow* row = find_operator(call->op);
  const bool product = row && work_row(*row).numerics == Numerics::kMatmul;
  double most = product ? summed_terms(program, *call) : 0;
  for (ValueId operand : operands_of(*call)) {
    most = std::max(most, terms_behind(program, operand, seen));
  }
  return most;
}

// Where an operator jumps on values that were computed: of others, nobody is unsure.
std::optional<Jump> near_jump(const Program& program, const AtenCall& call) {
  if (call.results.size() != 1 || !call.mutated.empty()) return std::nullopt;
  const std::optional<Jump> jump = jump_of(program, call, call.results[0]);
  if (!jump) return jump;
  const ValueId self = call.find("self")->value();
  const DType dtype = program.values[self].dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return std::nullopt;
  const Arg* other = jump == Jump::kZero ? call.find("other") : nullptr;
  const bool computed_other = other && other->is_value() && is_computed(program, other->value());
  return computed_other || is_computed(program, self) ? jump : std::nullopt;
}

// Each element, in either direction.
at::Tensor off_by_a_unit(const at::Tensor& x, uint64_t seed) {
  constexpr double kUnit = 0x1p-23;
  const at::Tensor factor = at::empty_like(x);
  factor.bernoulli_(0.5, generator_of_its_own(x.device(), seed));
  return factor.mul_(2 * kUnit).add_(1 - kUnit).mul_(x);
}

}  // namespace

bool rounds_results(const AtenCall& step) {
  const OperatorRow* row = find_operator(step.op);
  if (!row || !is_computing(row->cls) || !step.mutated.empty()) return false;
  switch (row->numerics) {
    case Numerics::kExact:
    case Numerics::kRound:
    case Numerics::kCut:
    case Numerics::kCompare:
    case Numerics::kChoice:
    case Numerics::kAnyChoice:
      return false;
    default:
      return true;
  }
}

at::Tensor right_to_a_unit(const at::Tensor& result, uint64_t seed) {
  if (result.scalar_type() != at::kFloat || result.numel() == 0) return result;
  const at::Tensor whole = result.eq(result.round());
  return at::where(whole, result, off_by_a_unit(result, seed));
}

std::optional<KernelArithmetic> KernelArithmetic::of(const Program& program, const AtenCall& step) {
  const OperatorRow* row = find_operator(step.op);
  if (!row) return std::nullopt;
  KernelArithmetic out;
  if (row->cls == OpClass::kConv) {
    out.kind_ = Kind::kConvolution;
    out.convolution_ = ConvolutionArithmetic::of(step);
    return out.convolution_ ? std::optional(out) : std::nullopt;
  } else if (row->numerics == Numerics::kExponential) {
    out.kind_ = Kind::kExponential;
  } else if (row->numerics == Numerics::kNearOne) {
    out.kind_ = Kind::kNearOne;
    out.is_softmax_ = row->cls == OpClass::kSoftmax;
  } else if (const auto jump = near_jump(program, step)) {
    out.kind_ = Kind::kRounding;
    out.jump_ = *jump;
    std::set<ValueId> seen;
    double terms = 0;
    for (ValueId operand : operands_of(step)) {
      terms = std::max(terms, terms_behind(program, operand, seen));
    }
    out.units_ = kNearJump + near_jump_of_sums(terms);
    if (const Arg* other = step.find("other"); other && *jump == Jump::kZero) out.other_ = *other;
  } else if (row->numerics == Numerics::kMatmul && summed_terms(program, step) >= kLongSum) {
    out.kind_ = Kind::kLongSum;
    out.terms_ = summed_terms(program, step);
    for (const auto& [name, arg] : step.args) {
      if (arg.is_value() && arg.value() >= 0) out.operands_.push_back(arg.value());
    }
    return out;
  } else if (row->cls == OpClass::kNorm) {
    out.kind_ = Kind::kNorm;
    out.norm_ = NormArithmetic::of(program, step);
    return out.norm_ ? std::optional(out) : std::nullopt;
  } else {
    return std::nullopt;
  }
  for (const char* name : {"self", "input", "weight"}) {
    const Arg* arg = step.find(name);
    if (arg && arg->is_value() && arg->value() >= 0) out.operands_.push_back(arg->value());
  }
  return out;
}

at::Tensor KernelArithmetic::changed(const at::Tensor& operand,
                                     std::span<const at::Tensor> slots) const {
  switch (kind_) {
    case Kind::kExponential:
    case Kind::kNearOne:
      if (operand.scalar_type() != at::kFloat) return operand;
      return at::nextafter(operand, at::full({}, INFINITY, operand.options()));
    case Kind::kRounding:
      return other_ ? beyond_near(operand, slots) : beyond_near_jumps(jump_, operand, units_);
    case Kind::kLongSum:
      return operand.is_floating_point() ? operand.square() : operand;
    case Kind::kConvolution:
    case Kind::kNorm:
      break;
  }
  return operand;
}

// Where it is near what it is compared with: the next number on the other side of that.
at::Tensor KernelArithmetic::beyond_near(const at::Tensor& operand,
                                         std::span<const at::Tensor> slots) const {
  const at::Tensor other = other_->is_value() ? slots[other_->value()].to(operand.options())
                                              : at::full({}, to_scalar(*other_), operand.options());
  const at::Tensor apart = operand - other;
  const at::Tensor crossed = beyond_near_jumps(jump_, apart, units_);
  const at::Tensor next = at::nextafter(other, crossed.sign() * INFINITY);
  return at::where(crossed.eq(apart).logical_or(crossed.isnan()), operand, next);
}

std::vector<at::Tensor> KernelArithmetic::run(const OperatorCall& call,
                                              std::span<const at::Tensor> slots,
                                              int32_t dither) const {
  if (kind_ == Kind::kConvolution) return {convolution_->on_tensor_cores(call, slots, dither)};
  if (kind_ == Kind::kNorm) {
    std::vector<at::Tensor> results = call.run(slots);
    results[0].copy_(norm_->run(slots, dither));
    return results;
  }
  std::vector<at::Tensor> other(slots.begin(), slots.end());
  for (ValueId id : operands_) other[id] = changed(slots[id], slots);
  if (kind_ == Kind::kLongSum) {
    std::vector<at::Tensor> products = call.run(slots);
    products[0] = summed_by_one_accumulator(products[0], call.run(other)[0], terms_);
    return products;
  }
  std::vector<at::Tensor> results = call.run(other);
  for (at::Tensor& result : results) {
    if (kind_ != Kind::kNearOne || result.scalar_type() != at::kFloat) continue;
    at::Tensor near_one = result.add(1);
    if (dither != 0) near_one = off_by_a_unit(near_one, static_cast<uint64_t>(dither));
    near_one.sub_(1);
    // Functions are exact at zero, but for its next number, which the argument is now; of a share
    // that is one but for its rounding, nobody knows.
    if (dither != 0 && !is_softmax_)
      near_one.masked_fill_(result.abs().lt(std::numeric_limits<float>::min()), 0);
    result = near_one;
  }
  return results;
}

std::vector<at::Tensor> KernelArithmetic::run_in_tf32(const OperatorCall& call,
                                                      std::span<const at::Tensor> slots) const {
  return {convolution_->in_tf32(call, slots)};
}

}  // namespace kw
