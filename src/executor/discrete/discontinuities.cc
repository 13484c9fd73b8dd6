#include "executor/discrete/discontinuities.h"

#include <cmath>
#include <limits>

#include "executor/aten/guarded_memory.h"
#include "executor/compare/accumulator.h"
#include "executor/compare/errors.h"
#include "ops/operator.h"

namespace kw {

std::optional<Jump> jump_of(const Program& program, const AtenCall& call, ValueId result) {
  const OperatorRow* row = find_operator(call.op);
  const Arg* self = call.find("self");
  if (!row || result < 0 || !self || !self->is_value() || self->value() < 0) return std::nullopt;
  if (!is_floating(program.values[self->value()].dtype)) return std::nullopt;
  const OperatorRow& work = work_row(*row);
  if (work.numerics == Numerics::kRound) return Jump::kMiddle;
  if (work.numerics == Numerics::kCut) return Jump::kInteger;
  if (work.numerics == Numerics::kCompare) return Jump::kZero;
  const DType made = program.values[result].dtype;
  const bool converts = work.cls == OpClass::kCopy && !is_floating(made) && made != DType::kBool;
  return converts ? std::optional(Jump::kInteger) : std::nullopt;
}

at::Tensor distance_to_jump(Jump jump, const at::Tensor& values) {
  if (jump == Jump::kZero) return -values;
  if (jump == Jump::kInteger) return values.round() - values;
  return values.floor() + 0.5 - values;
}

double unit_of(Jump jump) { return jump == Jump::kZero ? 0 : 1; }

double near_jump_of_sums(double terms) {
  return 8 * kErrorPerRootTerm * std::sqrt(terms) / std::numeric_limits<float>::epsilon();
}

at::Tensor beyond_near_jumps(Jump jump, const at::Tensor& values, double units) {
  const at::Tensor distance = distance_to_jump(jump, values);
  const double eps = dtype_eps(dtype_of(values.scalar_type()));
  // Sums err by what their terms are, however small they come out.
  const at::Tensor usual =
      values.square().mean().sqrt().nan_to_num(1, 1, 1).clamp_min(unit_of(jump));
  const at::Tensor reach = at::maximum(values.abs(), usual).mul(units * eps);
  const at::Tensor beyond = at::where(distance.abs().le(reach), values + 2 * distance, values);
  const at::Tensor at_jump = distance.eq(0);
  const int64_t exact = jump == Jump::kZero ? 0 : at_jump.sum().item<int64_t>();
  if (exact == 0 || exact * kOneInAtJump > values.numel()) return beyond;
  // The middle of two falls to the even one, an integer is cut to itself.
  const at::Tensor away =
      jump == Jump::kMiddle ? values + (values - values.round()) : at::zeros({}, values.options());
  return at::where(at_jump, at::nextafter(values, away.expand_as(values)), beyond);
}

}  // namespace kw
