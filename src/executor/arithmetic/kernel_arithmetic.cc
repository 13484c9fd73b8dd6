#include "executor/arithmetic/kernel_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "executor/arithmetic/arguments.h"
#include "executor/aten/seeds.h"
#include "executor/compare/accumulator.h"
#include "ops/operator.h"
#include "program/cost.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

// Returns how many terms an element of a float32 product sums; 0 for other results.
double summed_terms(const Program& program, const AtenCall& call) {
  if (call.results.size() != 1 || call.results[0] < 0 || !call.mutated.empty()) return 0;
  const Value& product = program.values[call.results[0]];
  if (product.dtype != DType::kFloat32 || product.numel() == 0) return 0;
  return step_cost(program, call).flops / (2 * static_cast<double>(product.numel()));
}

// Returns the most terms of any product that a value is computed from.
double most_terms_before(const Program& program, ValueId id, std::set<ValueId>& seen) {
  if (id < 0 || !seen.insert(id).second) return 0;
  const AtenCall* call = maker_of(program, id);
  if (!call) return 0;
  const OperatorRow* row = find_operator(call->op);
  const bool product =
      row && (work_row(*row).numerics == Numerics::kMatmul || row->cls == OpClass::kRecurrent);
  double most = product ? summed_terms(program, *call) : 0;
  for (ValueId operand : operands_of(*call)) {
    most = std::max(most, most_terms_before(program, operand, seen));
  }
  return most;
}

// Returns the discontinuity of an operator on computed values. Inputs are exact and have no near
// ties.
std::optional<Discontinuity> near_discontinuity(const Program& program, const AtenCall& call) {
  if (call.results.size() != 1 || !call.mutated.empty()) return std::nullopt;
  const std::optional<Discontinuity> discontinuity =
      discontinuity_of(program, call, call.results[0]);
  if (!discontinuity) return discontinuity;
  const ValueId self = call.find("self")->value();
  const DType dtype = program.values[self].dtype;
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return std::nullopt;
  const Arg* other = discontinuity == Discontinuity::kZero ? call.find("other") : nullptr;
  const bool computed_other = other && other->is_value() && is_computed(program, other->value());
  return computed_other || is_computed(program, self) ? discontinuity : std::nullopt;
}

// Moves each element by a unit in its last place, in either direction.
at::Tensor off_by_a_unit(const at::Tensor& x, uint64_t seed) {
  constexpr double kUnit = 0x1p-23;
  const at::Tensor factor = at::empty_like(x);
  factor.bernoulli_(0.5, separate_generator(x.device(), seed));
  return factor.mul_(2 * kUnit).add_(1 - kUnit).mul_(x);
}

// Returns the values among the step's arguments of these names.
std::vector<ValueId> operands_named(const AtenCall& step,
                                    std::initializer_list<const char*> names) {
  std::vector<ValueId> out;
  for (const char* name : names) {
    const Arg* arg = step.find(name);
    if (arg && arg->is_value() && arg->value() >= 0) out.push_back(arg->value());
  }
  return out;
}

// Returns `slots` with what change(tensor) returns in place of each operand.
template <class Change>
std::vector<at::Tensor> with_operands(std::span<const at::Tensor> slots,
                                      const std::vector<ValueId>& operands, const Change& change) {
  std::vector<at::Tensor> out(slots.begin(), slots.end());
  for (ValueId id : operands) out[id] = change(slots[id]);
  return out;
}

// Returns how near a tie of a step's operands is, in units in the last place.
double near_tie_units(const Program& program, const AtenCall& step) {
  std::set<ValueId> seen;
  double terms = 0;
  for (ValueId operand : operands_of(step)) {
    terms = std::max(terms, most_terms_before(program, operand, seen));
  }
  return kNearTieUnits + near_tie_units_of_sums(terms);
}

// Returns whether a value goes only where no difference can make its error larger: it is moved,
// multiplied or divided, and returned.
bool is_only_scaled(const Program& program, ValueId id, std::set<ValueId>& seen) {
  if (!seen.insert(id).second) return true;
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call) return false;
    const std::vector<ValueId> operands = operands_of(*call);
    if (std::ranges::find(operands, id) == operands.end()) continue;
    const OperatorRow* row = find_operator(call->op);
    if (!row || !call->mutated.empty()) return false;
    const std::string_view op = row->name;
    const bool scales = op.starts_with("aten.mul.") || op.starts_with("aten.div.") ||
                        op.starts_with("aten.neg.") || op.starts_with("aten.sqrt.");
    if (row->numerics != Numerics::kExact && !scales) return false;
    for (const ValueId result : call->results) {
      if (result >= 0 && !is_only_scaled(program, result, seen)) return false;
    }
  }
  return true;
}

// Returns whether a norm is the root of a sum of squares.
bool is_square_root(const AtenCall& norm) {
  const Arg* arg = norm.find("ord");
  if (!arg) return true;
  const auto* whole = std::get_if<int64_t>(&arg->v);
  const auto* real = std::get_if<double>(&arg->v);
  return (whole && *whole == 2) || (real && *real == 2);
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
  const auto found = [](auto arithmetic) { return KernelArithmetic(std::move(arithmetic)); };
  const std::vector<ValueId> operands = operands_named(step, {"self", "input", "weight"});
  if (row->cls == OpClass::kConv) {
    const auto convolution = ConvolutionArithmetic::of(step);
    return convolution ? std::optional(found(*convolution)) : std::nullopt;
  }
  if (row->numerics == Numerics::kExponential) return found(ExponentialArithmetic{operands});
  if (row->numerics == Numerics::kNearOne) {
    return found(NearOneArithmetic{{operands}, row->cls == OpClass::kSoftmax});
  }
  if (const auto discontinuity = near_discontinuity(program, step)) {
    const Arg* other = discontinuity == Discontinuity::kZero ? step.find("other") : nullptr;
    return found(RoundingArithmetic{operands, *discontinuity, near_tie_units(program, step),
                                    other ? std::optional(*other) : std::nullopt});
  }
  if (row->numerics == Numerics::kMatmul && summed_terms(program, step) >= kLongSum) {
    std::vector<ValueId> factors;
    for (const auto& [name, arg] : step.args) {
      if (arg.is_value() && arg.value() >= 0) factors.push_back(arg.value());
    }
    return found(LongSumArithmetic{std::move(factors), summed_terms(program, step)});
  }
  if (row->cls == OpClass::kAttention) {
    const auto query = operands_named(step, {"query"});
    const bool half =
        query.size() == 1 && dtype_eps(program.values[query[0]].dtype) > dtype_eps(DType::kFloat32);
    if (!half || is_random(step)) return std::nullopt;
    return found(
        AttentionArithmetic{query[0], operands_named(step, {"key", "value", "attn_mask"})});
  }
  if (const auto reduction = ReductionArithmetic::of(program, step)) return found(*reduction);
  if (row->cls == OpClass::kNorm) {
    const auto norm = NormArithmetic::of(program, step);
    return norm ? std::optional(found(*norm)) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<at::Tensor> ExponentialArithmetic::run(const OperatorCall& call,
                                                   std::span<const at::Tensor> slots,
                                                   int32_t /*dither*/) const {
  return call.run(with_operands(slots, operands, [](const at::Tensor& operand) {
    if (operand.scalar_type() != at::kFloat) return operand;
    return at::nextafter(operand, at::full({}, INFINITY, operand.options()));
  }));
}

std::vector<at::Tensor> NearOneArithmetic::run(const OperatorCall& call,
                                               std::span<const at::Tensor> slots,
                                               int32_t dither) const {
  std::vector<at::Tensor> results = function.run(call, slots, dither);
  for (at::Tensor& result : results) {
    if (result.scalar_type() != at::kFloat) continue;
    at::Tensor near_one = result.add(1);
    if (dither != 0) near_one = off_by_a_unit(near_one, static_cast<uint64_t>(dither));
    near_one.sub_(1);
    // Functions are exact at zero, and the argument is now the number next to zero. Whether a
    // softmax's share of nearly one is exact is unknown.
    if (dither != 0 && !is_softmax)
      near_one.masked_fill_(result.abs().lt(std::numeric_limits<float>::min()), 0);
    result = near_one;
  }
  return results;
}

std::vector<at::Tensor> RoundingArithmetic::run(const OperatorCall& call,
                                                std::span<const at::Tensor> slots,
                                                int32_t /*dither*/) const {
  return call.run(with_operands(
      slots, operands, [&](const at::Tensor& operand) { return flipped(operand, slots); }));
}

// Returns the operand with near ties flipped. An element near what it is compared with becomes the
// next number on the other side.
at::Tensor RoundingArithmetic::flipped(const at::Tensor& operand,
                                       std::span<const at::Tensor> slots) const {
  if (!other) return across_near_discontinuities(discontinuity, operand, units);
  const at::Tensor limit = other->is_value() ? slots[other->value()].to(operand.options())
                                             : at::full({}, to_scalar(*other), operand.options());
  const at::Tensor apart = operand - limit;
  const at::Tensor crossed = across_near_discontinuities(discontinuity, apart, units);
  const at::Tensor next = at::nextafter(limit, crossed.sign() * INFINITY);
  return at::where(crossed.eq(apart).logical_or(crossed.isnan()), operand, next);
}

std::vector<at::Tensor> LongSumArithmetic::run(const OperatorCall& call,
                                               std::span<const at::Tensor> slots,
                                               int32_t /*dither*/) const {
  const std::vector<at::Tensor> squared =
      with_operands(slots, operands, [](const at::Tensor& operand) {
        return operand.is_floating_point() ? operand.square() : operand;
      });
  std::vector<at::Tensor> products = call.run(slots);
  products[0] = summed_by_one_accumulator(products[0], call.run(squared)[0], terms);
  return products;
}

std::optional<ReductionArithmetic> ReductionArithmetic::of(const Program& program,
                                                           const AtenCall& step) {
  const auto is = [&](const char* packet) {
    const std::string_view op = step.op;
    return op.starts_with("aten.") && op.substr(5).starts_with(packet) &&
           op.substr(5 + std::string_view(packet).size()).starts_with(".");
  };
  const ValueId operand = value_argument(step, "self");
  if (operand < 0 || step.results.size() != 1 || step.results[0] < 0 || !step.mutated.empty()) {
    return std::nullopt;
  }
  const Value& in = program.values[operand];
  const Value& out = program.values[step.results[0]];
  if (in.dtype != DType::kFloat32 || out.dtype != DType::kFloat32 || out.numel() == 0) {
    return std::nullopt;
  }
  ReductionArithmetic found{operand, static_cast<double>(in.numel() / out.numel()), Kind::kSum};
  if (is("cumsum")) {
    const Arg* arg = step.find("dim");
    const auto* dim = arg ? std::get_if<int64_t>(&arg->v) : nullptr;
    const auto rank = static_cast<int64_t>(in.shape.size());
    if (!dim || rank == 0 || *dim < -rank || *dim >= rank) return std::nullopt;
    found.kind = Kind::kPrefixes;
    found.dim = *dim < 0 ? *dim + rank : *dim;
    found.terms = static_cast<double>(in.shape[found.dim]);
  } else if (is("mean")) {
    found.kind = Kind::kMean;
  } else if (is("var") || is("std") || (is("linalg_vector_norm") && is_square_root(step))) {
    found.kind = Kind::kOfOneSign;
  } else if (!is("sum") && !is("nansum")) {
    return std::nullopt;
  }
  if (found.terms < kLongSum || found.terms > kLongestSum) return std::nullopt;
  std::set<ValueId> seen;
  if (!is_only_scaled(program, step.results[0], seen)) return std::nullopt;
  return found;
}

std::vector<at::Tensor> ReductionArithmetic::run(const OperatorCall& call,
                                                 std::span<const at::Tensor> slots,
                                                 int32_t dither) const {
  std::vector<at::Tensor> results = call.run(slots);
  if (dither == 0) return results;
  at::Tensor& result = results[0];
  if (kind == Kind::kOfOneSign) {
    result = summed_by_one_accumulator(result, result.square(), std::min(terms, kMostInARow));
    return results;
  }
  const std::vector<ValueId> self = {operand};
  const auto square = [](const at::Tensor& x) { return x.square(); };
  at::Tensor squares = call.run(with_operands(slots, self, square))[0];
  if (kind == Kind::kMean) squares = squares / terms;
  at::Tensor count = at::full({1}, terms, result.options());
  if (kind == Kind::kPrefixes) {
    count = at::arange(1, terms + 1, result.options());
    std::vector<int64_t> shape(result.dim(), 1);
    shape[dim] = count.numel();
    count = count.view(shape);
  }
  result = added_one_by_one(result, squares, count);
  return results;
}

std::vector<at::Tensor> AttentionArithmetic::run(const OperatorCall& call,
                                                 std::span<const at::Tensor> slots,
                                                 int32_t /*dither*/) const {
  constexpr double kLog2OfE = 1.4426950408889634;
  const at::ScalarType half = slots[query].scalar_type();
  std::vector<at::Tensor> wide = with_operands(slots, others, [](const at::Tensor& operand) {
    return operand.is_floating_point() ? operand.to(at::kFloat) : operand;
  });
  wide[query] = slots[query].to(at::kFloat).mul(kLog2OfE).to(half).to(at::kFloat).div(kLog2OfE);
  std::vector<at::Tensor> results = call.run(wide);
  for (at::Tensor& result : results) {
    if (result.defined() && result.is_floating_point()) result = result.to(half);
  }
  return results;
}

std::vector<at::Tensor> KernelArithmetic::run(const OperatorCall& call,
                                              std::span<const at::Tensor> slots,
                                              int32_t dither) const {
  return std::visit([&](const auto& kind) { return kind.run(call, slots, dither); }, kind_);
}

std::vector<at::Tensor> KernelArithmetic::run_in_tf32(const OperatorCall& call,
                                                      std::span<const at::Tensor> slots) const {
  return {std::get<ConvolutionArithmetic>(kind_).in_tf32(call, slots)};
}

}  // namespace kw::exec
