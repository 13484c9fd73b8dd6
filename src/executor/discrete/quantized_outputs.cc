#include "executor/discrete/quantized_outputs.h"

#include "executor/aten/guarded_memory.h"
#include "executor/compare/compare.h"
#include "executor/compare/errors.h"
#include "ops/operator.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

constexpr double kWorstQuantizedFactor = 8;  // the same as for indices (index_outputs.cc)
// How many elements may differ from fp64's: kMoreOften times as many as the reference's, plus
// kFewQuantized, plus one in kOneInQuantized.
constexpr int64_t kMoreOften = 2, kFewQuantized = 16, kOneInQuantized = 1024;

// Returns the value that `call` works on element by element, or -1 if it works otherwise.
ValueId source_of(const Program& program, const AtenCall& call, ValueId result) {
  const OperatorRow* row = find_operator(call.op);
  const Arg* self = call.find("self");
  if (!row || !self || !self->is_value() || self->value() < 0) return -1;
  const OpClass cls = work_row(*row).cls;
  if (cls != OpClass::kPointwise && cls != OpClass::kCopy) return -1;
  return program.values[self->value()].shape == program.values[result].shape ? self->value() : -1;
}

// Returns a comparison as a quantized output. Inputs are exact, so comparing two inputs has no near
// ties and gives nothing.
std::optional<DiscreteOutput> compared(const Program& program, const AtenCall& call,
                                       size_t position, ValueId source) {
  const Arg* other = call.find("other");
  const bool other_computed = other && other->is_value() && is_computed(program, other->value());
  if (!other_computed && !is_computed(program, source)) return std::nullopt;
  if (other && other->is_value() &&
      program.values[other->value()].dtype != program.values[source].dtype) {
    return std::nullopt;
  }
  return DiscreteOutput{
      position, source, {}, Discontinuity::kZero, other ? std::optional(*other) : std::nullopt,
      false};
}

}  // namespace

std::optional<DiscreteOutput> find_quantized_output(const Program& program, size_t position) {
  ValueId id = program.outputs[position];
  if (is_floating(real_type(program.values[id].dtype))) return std::nullopt;
  std::optional<DiscreteOutput> converted;
  while (true) {
    id = behind_views(program, id);
    const AtenCall* call = maker_of(program, id);
    const ValueId source = call ? source_of(program, *call, id) : -1;
    if (source < 0) return converted;
    const std::optional<Discontinuity> discontinuity = discontinuity_of(program, *call, id);
    if (discontinuity == Discontinuity::kZero) return compared(program, *call, position, source);
    if (discontinuity && is_floating(program.values[id].dtype))
      return DiscreteOutput{position, source, {}, discontinuity, {}, false};
    if (!work_row(*find_operator(call->op)).integers) return converted;
    if (discontinuity) converted = DiscreteOutput{position, source, {}, discontinuity, {}, false};
    id = source;
  }
}

at::Tensor quantized_tolerance(Discontinuity discontinuity, const at::Tensor& reference,
                               const at::Tensor& oracle) {
  const at::Tensor own = reference.to(at::kDouble);
  const at::Tensor error = (own - oracle).abs();
  poison_copy(own, reference);
  if (error.numel() == 0 || error.eq(0).all().item<bool>()) return at::zeros_like(oracle);
  // Errors may be alike, or grow with the number. The estimate that allows less counts.
  const at::Tensor usual = oracle.square().mean().sqrt().nan_to_num(1, 1, 1);
  const at::Tensor size = at::maximum(
      oracle.abs(),
      discontinuity == Discontinuity::kZero ? usual : at::full_like(usual, unit_of(discontinuity)));
  const at::Tensor relative = error.div(size).max();
  const at::Tensor worst = at::minimum(size.mul(relative), error.max()).mul(kWorstQuantizedFactor);
  const double eps = dtype_eps(dtype_of(reference.scalar_type()));
  return at::maximum(worst, size.mul(kNearTieUnits * eps));
}

int64_t wrong_quantized(Discontinuity discontinuity, const at::Tensor& rounded,
                        const at::Tensor& tolerance, const at::Tensor& got,
                        const at::Tensor& expected, const at::Tensor& exact) {
  const at::Device device = got.device();
  const auto flat = [&](const at::Tensor& t) { return t.to(device).reshape({-1}); };
  const auto codes = [&](const at::Tensor& t) { return flat(t).to(at::kLong); };
  const auto count = [](const at::Tensor& which) { return which.sum().item<int64_t>(); };
  const at::Tensor mine = codes(got), theirs = codes(expected), right = codes(exact);
  const at::Tensor value = flat(rounded), room = flat(tolerance);
  const at::Tensor to_discontinuity = distance_to_discontinuity(discontinuity, value);
  // Integers grow with what is rounded, or fall if it was negated on the way.
  const at::Tensor wide = right.to(at::kDouble);
  const at::Tensor growth = (wide - wide.mean()).mul(value - value.mean()).sum().sign();
  const at::Tensor beyond = right + to_discontinuity.sign().mul(growth).nan_to_num().to(at::kLong);
  const at::Tensor at_discontinuity =
      to_discontinuity.eq(0).logical_and((mine - right).abs().eq(1));
  const at::Tensor near = to_discontinuity.abs().le(room).logical_and(room.gt(0));
  const at::Tensor may_be =
      mine.eq(right).logical_or(near.logical_and(mine.eq(beyond).logical_or(at_discontinuity)));
  const at::Tensor other = mine.ne(theirs);
  const int64_t may_be_off =
      kMoreOften * count(theirs.ne(right)) + kFewQuantized + mine.numel() / kOneInQuantized;
  const bool too_often = count(mine.ne(right)) > may_be_off;
  const int64_t wrong = count(too_often ? other : other.logical_and(may_be.logical_not()));
  // These hold the answer, and later kernels may find them in freed memory.
  poison_copy(theirs, expected);
  for (const at::Tensor& made : {right, wide, beyond}) poison_copy(made, exact);
  return wrong;
}

int64_t wrong_integers(const at::Tensor& got, const at::Tensor& expected,
                       const at::Tensor& ties_flipped) {
  const auto number = [&](const at::Tensor& t) { return t.to(got.device()).to(at::kLong); };
  const at::Tensor mine = number(got), one = number(expected), other = number(ties_flipped);
  const at::Tensor between =
      mine.ge(at::minimum(one, other)).logical_and(mine.le(at::maximum(one, other)));
  // The byte of a bool may hold any number, and only 0 and 1 are right: bits are compared.
  const at::Tensor odd = bits(got)
                             .ne(bits(expected.to(got.device())))
                             .logical_and(bits(got).ne(bits(ties_flipped.to(got.device()))));
  const at::Tensor wrong = got.scalar_type() == at::kBool ? odd : between.logical_not();
  const int64_t count = wrong.sum().item<int64_t>();
  poison_copy(one, expected);
  poison_copy(other, ties_flipped);
  return count;
}

}  // namespace kw::exec
