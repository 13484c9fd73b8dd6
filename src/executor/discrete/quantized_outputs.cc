#include "executor/discrete/quantized_outputs.h"

#include "executor/aten/guarded_memory.h"
#include "executor/compare/compare.h"
#include "executor/compare/errors.h"
#include "ops/operator.h"
#include "program/makers.h"

namespace kw {
namespace {

constexpr double kWorstCodeFactor = 8;  // as indices have it (index_outputs.cc)
// Codes that may be off: so many times those that the reference has off, a few, and one in so many.
constexpr int64_t kMoreOften = 2, kFewCodes = 16, kOneIn = 1024;

// What `call` works on element by element; -1 when that is not what it does.
ValueId source_of(const Program& program, const AtenCall& call, ValueId result) {
  const OperatorRow* row = find_operator(call.op);
  const Arg* self = call.find("self");
  if (!row || !self || !self->is_value() || self->value() < 0) return -1;
  const OpClass cls = work_row(*row).cls;
  if (cls != OpClass::kPointwise && cls != OpClass::kCopy) return -1;
  return program.values[self->value()].shape == program.values[result].shape ? self->value() : -1;
}

// Of numbers as they were given nobody is unsure on which side of the other they are.
std::optional<Choice> compared(const Program& program, const AtenCall& call, size_t output,
                               ValueId source) {
  const Arg* other = call.find("other");
  const bool other_computed = other && other->is_value() && is_computed(program, other->value());
  if (!other_computed && !is_computed(program, source)) return std::nullopt;
  if (other && other->is_value() &&
      program.values[other->value()].dtype != program.values[source].dtype) {
    return std::nullopt;
  }
  return Choice{output, source, {}, Jump::kZero, other ? std::optional(*other) : std::nullopt,
                false};
}

}  // namespace

std::optional<Choice> find_code(const Program& program, size_t output) {
  ValueId id = program.outputs[output];
  if (is_floating(program.values[id].dtype)) return std::nullopt;
  std::optional<Choice> converted;
  while (true) {
    id = behind_views(program, id);
    const AtenCall* call = maker_of(program, id);
    const ValueId source = call ? source_of(program, *call, id) : -1;
    if (source < 0) return converted;
    const std::optional<Jump> jump = jump_of(program, *call, id);
    if (jump == Jump::kZero) return compared(program, *call, output, source);
    if (jump && is_floating(program.values[id].dtype))
      return Choice{output, source, {}, jump, {}, false};
    if (!work_row(*find_operator(call->op)).integers) return converted;
    if (jump) converted = Choice{output, source, {}, jump, {}, false};
    id = source;
  }
}

at::Tensor code_slack(Jump jump, const at::Tensor& reference, const at::Tensor& oracle) {
  const at::Tensor own = reference.to(at::kDouble);
  const at::Tensor error = (own - oracle).abs();
  poison_copy(own, reference);
  if (error.numel() == 0 || error.eq(0).all().item<bool>()) return at::zeros_like(oracle);
  // Of errors that are alike and of errors that grow with the number, what allows less.
  const at::Tensor usual = oracle.square().mean().sqrt().nan_to_num(1, 1, 1);
  const at::Tensor size =
      at::maximum(oracle.abs(), jump == Jump::kZero ? usual : at::full_like(usual, unit_of(jump)));
  const at::Tensor relative = error.div(size).max();
  const at::Tensor worst = at::minimum(size.mul(relative), error.max()).mul(kWorstCodeFactor);
  const double eps = dtype_eps(dtype_of(reference.scalar_type()));
  return at::maximum(worst, size.mul(kNearJump * eps));
}

int64_t wrong_codes(Jump jump, const at::Tensor& rounded, const at::Tensor& slack,
                    const at::Tensor& got, const at::Tensor& expected, const at::Tensor& exact) {
  const at::Device device = got.device();
  const auto flat = [&](const at::Tensor& t) { return t.to(device).reshape({-1}); };
  const auto codes = [&](const at::Tensor& t) { return flat(t).to(at::kLong); };
  const auto count = [](const at::Tensor& which) { return which.sum().item<int64_t>(); };
  const at::Tensor mine = codes(got), theirs = codes(expected), right = codes(exact);
  const at::Tensor value = flat(rounded), room = flat(slack);
  const at::Tensor to_jump = distance_to_jump(jump, value);
  // Codes grow with what is rounded, or fall (a negation on the way).
  const at::Tensor wide = right.to(at::kDouble);
  const at::Tensor growth = (wide - wide.mean()).mul(value - value.mean()).sum().sign();
  const at::Tensor beyond = right + to_jump.sign().mul(growth).nan_to_num().to(at::kLong);
  const at::Tensor at_jump = to_jump.eq(0).logical_and((mine - right).abs().eq(1));
  const at::Tensor near = to_jump.abs().le(room).logical_and(room.gt(0));
  const at::Tensor may_be =
      mine.eq(right).logical_or(near.logical_and(mine.eq(beyond).logical_or(at_jump)));
  const at::Tensor other = mine.ne(theirs);
  const int64_t may_be_off =
      kMoreOften * count(theirs.ne(right)) + kFewCodes + mine.numel() / kOneIn;
  const bool too_often = count(mine.ne(right)) > may_be_off;
  const int64_t wrong = count(too_often ? other : other.logical_and(may_be.logical_not()));
  // They are the answer, and later kernels may find them.
  poison_copy(theirs, expected);
  for (const at::Tensor& made : {right, wide, beyond}) poison_copy(made, exact);
  return wrong;
}

int64_t wrong_integers(const at::Tensor& got, const at::Tensor& expected,
                       const at::Tensor& fallen) {
  const auto number = [&](const at::Tensor& t) { return t.to(got.device()).to(at::kLong); };
  const at::Tensor mine = number(got), one = number(expected), other = number(fallen);
  const at::Tensor between =
      mine.ge(at::minimum(one, other)).logical_and(mine.le(at::maximum(one, other)));
  // A byte of a bool may be any, and only two are right (compare.h).
  const at::Tensor odd = bits(got)
                             .ne(bits(expected.to(got.device())))
                             .logical_and(bits(got).ne(bits(fallen.to(got.device()))));
  const at::Tensor wrong = got.scalar_type() == at::kBool ? odd : between.logical_not();
  const int64_t count = wrong.sum().item<int64_t>();
  poison_copy(one, expected);
  poison_copy(other, fallen);
  return count;
}

}  // namespace kw
