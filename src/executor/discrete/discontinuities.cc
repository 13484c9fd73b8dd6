#include "executor/discrete/discontinuities.h"

#include <cmath>
#include <limits>

#include "executor/aten/guarded_memory.h"
#include "executor/compare/accumulator.h"
#include "executor/compare/errors.h"
#include "ops/operator.h"

namespace kw::exec {

std::optional<Discontinuity> discontinuity_of(const Program& program, const AtenCall& call,
                                              ValueId result) {
  const OperatorRow* row = find_operator(call.op);
  const Arg* self = call.find("self");
  if (!row || result < 0 || !self || !self->is_value() || self->value() < 0) return std::nullopt;
  if (!is_floating(program.values[self->value()].dtype)) return std::nullopt;
  const OperatorRow& work = work_row(*row);
  if (work.numerics == Numerics::kRound) return Discontinuity::kMiddle;
  if (work.numerics == Numerics::kCut) return Discontinuity::kInteger;
  if (work.numerics == Numerics::kCompare) return Discontinuity::kZero;
  const DType made = program.values[result].dtype;
  const bool converts = work.cls == OpClass::kCopy && is_integral(made);
  return converts ? std::optional(Discontinuity::kInteger) : std::nullopt;
}

at::Tensor distance_to_discontinuity(Discontinuity discontinuity, const at::Tensor& values) {
  if (discontinuity == Discontinuity::kZero) return -values;
  if (discontinuity == Discontinuity::kInteger) return values.round() - values;
  return values.floor() + 0.5 - values;
}

double unit_of(Discontinuity discontinuity) {
  return discontinuity == Discontinuity::kZero ? 0 : 1;
}

double near_tie_units_of_sums(double terms) {
  return 8 * kErrorPerRootTerm * std::sqrt(terms) / std::numeric_limits<float>::epsilon();
}

at::Tensor across_near_discontinuities(Discontinuity discontinuity, const at::Tensor& values,
                                       double units) {
  const at::Tensor distance = distance_to_discontinuity(discontinuity, values);
  const double eps = dtype_eps(dtype_of(values.scalar_type()));
  // The error of a sum depends on its terms, however small the sum is.
  const at::Tensor usual =
      values.square().mean().sqrt().nan_to_num(1, 1, 1).clamp_min(unit_of(discontinuity));
  const at::Tensor reach = at::maximum(values.abs(), usual).mul(units * eps);
  const at::Tensor beyond = at::where(distance.abs().le(reach), values + 2 * distance, values);
  const at::Tensor at_discontinuity = distance.eq(0);
  const int64_t exact =
      discontinuity == Discontinuity::kZero ? 0 : at_discontinuity.sum().item<int64_t>();
  if (exact == 0 || exact * kOneInAtDiscontinuity > values.numel()) return beyond;
  // The middle of two integers is rounded to the even one; an integer is cut to itself.
  const at::Tensor away = discontinuity == Discontinuity::kMiddle
                              ? values + (values - values.round())
                              : at::zeros({}, values.options());
  return at::where(at_discontinuity, at::nextafter(values, away.expand_as(values)), beyond);
}

}  // namespace kw::exec
