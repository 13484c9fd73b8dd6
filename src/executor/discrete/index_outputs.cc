#include "executor/discrete/index_outputs.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "executor/aten/guarded_memory.h"
#include "executor/discrete/quantized_outputs.h"
#include "ops/operator.h"
#include "program/makers.h"

namespace kw {
namespace {

// As errors of values: a candidate's may be so many times the reference's (docs/numerics.md). Each
// of two elements may be off by as much.
constexpr double kWorstIndexFactor = 8;
// Of both elements together, where the reference had the luck of no rounding there.
constexpr double kFloor = 4;  // units in the last place

// The operator's `dim`, or its default.
std::optional<int64_t> dimension(const AtenCall& call, const OperatorRow& row) {
  if (const Arg* dim = call.find("dim")) {
    const auto* number = std::get_if<int64_t>(&dim->v);
    return number ? std::optional<int64_t>(*number) : std::nullopt;
  }
  for (const SchemaArg& arg : operator_schema(row).args) {
    int64_t number = 0;
    const char* end = arg.default_text.data() + arg.default_text.size();
    if (arg.name == "dim" &&
        std::from_chars(arg.default_text.data(), end, number).ec == std::errc()) {
      return number;
    }
  }
  return std::nullopt;
}

// Elements along the last dimension, whatever dimension is meant.
at::Tensor rows_of(const at::Tensor& tensor, std::optional<int64_t> dim) {
  return dim && tensor.dim() > 0 ? tensor.movedim(*dim, -1) : tensor.reshape({-1});
}

// Indices as rows_of() has what they point into: with one index a row where the dimension is gone.
at::Tensor index_rows(const Choice& choice, const at::Tensor& among, const at::Tensor& indices) {
  const at::Tensor rows = rows_of(among, choice.dim);
  std::vector<int64_t> shape = rows.sizes().vec();
  const int64_t others = rows.numel() / std::max<int64_t>(1, rows.size(-1));
  shape.back() = indices.numel() / std::max<int64_t>(1, others);
  if (!choice.dim || shape.back() == 1) return indices.reshape(shape);
  std::vector<int64_t> as_made = among.sizes().vec();  // a view may have changed the shape
  as_made[at::maybe_wrap_dim(*choice.dim, among.dim())] = shape.back();
  return indices.reshape(as_made).movedim(*choice.dim, -1);
}

std::optional<Choice> find_index(const Program& program, size_t output) {
  if (program.values[program.outputs[output]].dtype != DType::kInt64) return std::nullopt;
  const AtenCall* call = maker_of(program, behind_views(program, program.outputs[output]));
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  const Arg* self = call ? call->find("self") : nullptr;
  const bool any_of_equal = row && row->numerics == Numerics::kAnyChoice;
  if (!row || (row->numerics != Numerics::kChoice && !any_of_equal)) return std::nullopt;
  if (!self || !self->is_value()) return std::nullopt;
  const Value& among = program.values[self->value()];
  if (!is_floating(among.dtype) || among.numel() == 0) return std::nullopt;
  return Choice{output, self->value(), dimension(*call, *row), {}, {}, any_of_equal};
}

// How far off elements of these sizes may be: by the row's worst error, or by its worst relative
// error where that is less (beside a large element small ones are no less exact); a few units in
// the last place at least, and what may be flushed to zero.
at::Tensor allowed(const at::Tensor& slack, const at::Tensor& sizes) {
  const auto of_row = [&](int64_t i) { return slack.narrow(-1, i, 1); };
  const at::Tensor errors =
      at::maximum(at::minimum(of_row(0), of_row(1) * sizes), of_row(2) * sizes);
  return at::maximum(errors, of_row(3));
}

// Places along the last dimension that name an element which another place names too.
int64_t repeated(const at::Tensor& rows) {
  if (rows.size(-1) < 2) return 0;
  const at::Tensor sorted = std::get<0>(rows.sort(-1));
  return sorted.diff(1, -1).eq(0).sum().item<int64_t>();
}

}  // namespace

Program with_choices(Program program, const std::vector<Choice>& choices) {
  for (const Choice& choice : choices) {
    ValueId among = choice.among;
    if (choice.other) {  // the difference of the two
      AtenCall less;
      less.op = choice.other->is_value() ? "aten.sub.Tensor" : "aten.sub.Scalar";
      less.args = {{"self", {ValueRef{among}}}, {"other", *choice.other}};
      Value difference = program.values[among];
      int64_t step = 1;
      for (size_t d = difference.shape.size(); d-- > 0; step *= difference.shape[d]) {
        difference.strides[d] = step;
      }
      difference.offset = 0;
      for (const Value& value : program.values) {
        difference.storage = std::max(difference.storage, value.storage + 1);
      }
      among = static_cast<ValueId>(program.values.size());
      less.results = {among};
      program.values.push_back(difference);
      program.steps.emplace_back(less);
    }
    program.outputs.push_back(among);
  }
  return program;
}

std::vector<Choice> find_choices(const Program& program) {
  std::vector<Choice> out;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    auto found = find_index(program, i);
    if (!found) found = find_code(program, i);
    if (!found || is_overwritten(program, found->among)) continue;
    const auto& other = found->other;
    if (other && other->is_value() && is_overwritten(program, other->value())) continue;
    out.push_back(*found);
  }
  return out;
}

ChoiceRule choice_rule(const Choice& choice, const at::Tensor& reference,
                       const at::Tensor& oracle) {
  if (choice.jump) return {oracle, code_slack(*choice.jump, reference, oracle)};
  const at::Tensor among = rows_of(oracle, choice.dim);
  const at::Tensor own = rows_of(reference, choice.dim).to(at::kDouble);
  const at::Tensor error = (own - among).abs();
  poison_copy(own, reference);
  const double eps = dtype_eps(dtype_of(reference.scalar_type()));
  const at::Tensor worst = error.amax({-1}, true).mul(kWorstIndexFactor);
  const at::Tensor sizes = among.abs();
  const at::Tensor relative =
      at::where(sizes.gt(0), error / sizes, at::zeros_like(error)).amax({-1}, true);
  poison_copy(sizes, oracle);
  const at::Tensor floor = at::full_like(worst, kFloor / 2 * eps);
  const at::Tensor zero = at::full_like(worst, flushed_below(dtype_of(reference.scalar_type())));
  const at::Tensor slack = at::cat({worst, relative.mul(kWorstIndexFactor), floor, zero}, -1);
  // What no operation rounded has no near ties.
  if (error.eq(0).all().item<bool>()) return {oracle, at::zeros_like(slack)};
  return {oracle, slack, choice.any_of_equal ? at::Tensor() : reference};
}

void allow_errors_of(const Choice& choice, const at::Tensor& run, ChoiceRule& rule) {
  const at::Tensor slack = choice_rule(choice, run, rule.among).slack;
  rule.slack = at::where(slack.isfinite(), at::maximum(rule.slack, slack), rule.slack);
}

int64_t wrong_choices(const Choice& choice, const ChoiceRule& rule, const at::Tensor& got,
                      const at::Tensor& expected, const at::Tensor& exact) {
  if (choice.jump) return wrong_codes(*choice.jump, rule.among, rule.slack, got, expected, exact);
  const at::Device device = got.device();
  const at::Tensor among = rows_of(rule.among, choice.dim).to(device);
  const at::Tensor mine = index_rows(choice, rule.among, got),
                   theirs = index_rows(choice, rule.among, expected.to(device));
  const at::Tensor inside = mine.ge(0).logical_and(mine.lt(among.size(-1)));
  const at::Tensor sure = mine.clamp(0, among.size(-1) - 1);
  const at::Tensor chosen = among.gather(-1, sure), expected_one = among.gather(-1, theirs);
  const at::Tensor apart = (chosen - expected_one).abs(), slack = rule.slack.to(device);
  // Equal elements are told apart by PyTorch's promise, but for those that it rounded apart itself.
  at::Tensor unlike = choice.any_of_equal ? inside : apart.gt(0);
  if (rule.found.defined()) {
    const at::Tensor found = rows_of(rule.found, choice.dim).to(device);
    const at::Tensor my_own = found.gather(-1, sure), their_own = found.gather(-1, theirs);
    unlike = unlike.logical_or(my_own.ne(their_own));
    // They may be an answer, and later kernels may find them.
    poison_storage(my_own);
    poison_storage(their_own);
  }
  const at::Tensor near = inside.logical_and(unlike).logical_and(
      apart.le(allowed(slack, chosen.abs()) + allowed(slack, expected_one.abs())));
  const at::Tensor wrong = mine.ne(theirs).logical_and(near.logical_not());
  return wrong.sum().item<int64_t>() + repeated(mine);
}

}  // namespace kw
