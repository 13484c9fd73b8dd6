#include "executor/discrete/index_outputs.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "executor/aten/guarded_memory.h"
#include "executor/discrete/quantized_outputs.h"
#include "ops/operator.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

// A candidate's worst error may be this many times the reference's, as for floating outputs
// (docs/numerics.md). Each of the two elements that are compared may be off by as much.
constexpr double kWorstIndexFactor = 8;
// What both elements together may be off even if the reference happened to round neither.
constexpr double kFloor = 4;  // units in the last place

// Returns the operator's `dim`, or its default.
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

// Returns `tensor` with dimension `dim` moved to the end; all elements in one row if there is none.
at::Tensor rows_of(const at::Tensor& tensor, std::optional<int64_t> dim) {
  return dim && tensor.dim() > 0 ? tensor.movedim(*dim, -1) : tensor.reshape({-1});
}

// Returns indices in the layout that rows_of() gives `source`, into which they point. If the
// dimension was reduced away, each row has one index.
at::Tensor index_rows(const DiscreteOutput& output, const at::Tensor& source,
                      const at::Tensor& indices) {
  const at::Tensor rows = rows_of(source, output.dim);
  std::vector<int64_t> shape = rows.sizes().vec();
  const int64_t others = rows.numel() / std::max<int64_t>(1, rows.size(-1));
  shape.back() = indices.numel() / std::max<int64_t>(1, others);
  if (!output.dim || shape.back() == 1) return indices.reshape(shape);
  std::vector<int64_t> as_made = source.sizes().vec();  // a view may have changed the shape
  as_made[at::maybe_wrap_dim(*output.dim, source.dim())] = shape.back();
  return indices.reshape(as_made).movedim(*output.dim, -1);
}

std::optional<DiscreteOutput> find_index_output(const Program& program, size_t position) {
  if (program.values[program.outputs[position]].dtype != DType::kInt64) return std::nullopt;
  const AtenCall* call = maker_of(program, behind_views(program, program.outputs[position]));
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  const Arg* self = call ? call->find("self") : nullptr;
  const bool any_of_equal = row && row->numerics == Numerics::kAnyChoice;
  if (!row || (row->numerics != Numerics::kChoice && !any_of_equal)) return std::nullopt;
  if (!self || !self->is_value()) return std::nullopt;
  const Value& source = program.values[self->value()];
  if (!is_floating(source.dtype) || source.numel() == 0) return std::nullopt;
  return DiscreteOutput{position, self->value(), dimension(*call, *row), {}, {}, any_of_equal};
}

// Returns how far off elements of magnitudes `sizes` may be. This is the row's worst error, or its
// worst relative error if that allows less: a large element in the row does not make small ones
// less exact. The result is at least a few units in the last place, and at least what may be
// flushed to zero. `tolerance` has four numbers a row, in this order: worst error, worst relative
// error, units in the last place, what may be flushed.
at::Tensor allowed(const at::Tensor& tolerance, const at::Tensor& sizes) {
  const auto of_row = [&](int64_t i) { return tolerance.narrow(-1, i, 1); };
  const at::Tensor errors =
      at::maximum(at::minimum(of_row(0), of_row(1) * sizes), of_row(2) * sizes);
  return at::maximum(errors, of_row(3));
}

// Counts repeated indices along the last dimension.
int64_t repeated(const at::Tensor& rows) {
  if (rows.size(-1) < 2) return 0;
  const at::Tensor sorted = std::get<0>(rows.sort(-1));
  return sorted.diff(1, -1).eq(0).sum().item<int64_t>();
}

}  // namespace

Program with_sources(Program program, const std::vector<DiscreteOutput>& discrete_outputs) {
  for (const DiscreteOutput& output : discrete_outputs) {
    ValueId source = output.source;
    if (output.other) {  // the difference of the two
      AtenCall less;
      less.op = output.other->is_value() ? "aten.sub.Tensor" : "aten.sub.Scalar";
      less.args = {{"self", {ValueRef{source}}}, {"other", *output.other}};
      Value difference = program.values[source];
      int64_t step = 1;
      for (size_t d = difference.shape.size(); d-- > 0; step *= difference.shape[d]) {
        difference.strides[d] = step;
      }
      difference.offset = 0;
      for (const Value& value : program.values) {
        difference.storage = std::max(difference.storage, value.storage + 1);
      }
      source = static_cast<ValueId>(program.values.size());
      less.results = {source};
      program.values.push_back(difference);
      program.steps.emplace_back(less);
    }
    program.outputs.push_back(source);
  }
  return program;
}

std::vector<DiscreteOutput> find_discrete_outputs(const Program& program) {
  std::vector<DiscreteOutput> out;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    auto found = find_index_output(program, i);
    if (!found) found = find_quantized_output(program, i);
    if (!found || is_overwritten(program, found->source)) continue;
    const auto& other = found->other;
    if (other && other->is_value() && is_overwritten(program, other->value())) continue;
    out.push_back(*found);
  }
  return out;
}

DiscreteRule discrete_rule(const DiscreteOutput& output, const at::Tensor& reference,
                           const at::Tensor& oracle) {
  if (output.discontinuity)
    return {oracle, quantized_tolerance(*output.discontinuity, reference, oracle)};
  const at::Tensor source = rows_of(oracle, output.dim);
  const at::Tensor own = rows_of(reference, output.dim).to(at::kDouble);
  const at::Tensor error = (own - source).abs();
  poison_copy(own, reference);
  const double eps = dtype_eps(dtype_of(reference.scalar_type()));
  const at::Tensor worst = error.amax({-1}, true).mul(kWorstIndexFactor);
  const at::Tensor sizes = source.abs();
  const at::Tensor relative =
      at::where(sizes.gt(0), error / sizes, at::zeros_like(error)).amax({-1}, true);
  poison_copy(sizes, oracle);
  const at::Tensor floor = at::full_like(worst, kFloor / 2 * eps);
  const at::Tensor zero = at::full_like(worst, flushed_below(dtype_of(reference.scalar_type())));
  const at::Tensor tolerance = at::cat({worst, relative.mul(kWorstIndexFactor), floor, zero}, -1);
  // Without any rounding there are no near ties.
  if (error.eq(0).all().item<bool>()) return {oracle, at::zeros_like(tolerance)};
  return {oracle, tolerance, output.any_of_equal ? at::Tensor() : reference};
}

void allow_errors_of(const DiscreteOutput& output, const at::Tensor& run, DiscreteRule& rule) {
  const at::Tensor tolerance = discrete_rule(output, run, rule.source).tolerance;
  rule.tolerance =
      at::where(tolerance.isfinite(), at::maximum(rule.tolerance, tolerance), rule.tolerance);
}

int64_t wrong_elements(const DiscreteOutput& output, const DiscreteRule& rule,
                       const at::Tensor& got, const at::Tensor& expected, const at::Tensor& exact) {
  if (output.discontinuity)
    return wrong_quantized(*output.discontinuity, rule.source, rule.tolerance, got, expected,
                           exact);
  const at::Device device = got.device();
  const at::Tensor source = rows_of(rule.source, output.dim).to(device);
  const at::Tensor mine = index_rows(output, rule.source, got),
                   theirs = index_rows(output, rule.source, expected.to(device));
  const at::Tensor inside = mine.ge(0).logical_and(mine.lt(source.size(-1)));
  const at::Tensor sure = mine.clamp(0, source.size(-1) - 1);
  const at::Tensor chosen = source.gather(-1, sure), expected_one = source.gather(-1, theirs);
  const at::Tensor apart = (chosen - expected_one).abs(), tolerance = rule.tolerance.to(device);
  // PyTorch defines which of equal elements is chosen, except where its own rounding told them
  // apart.
  at::Tensor unlike = output.any_of_equal ? inside : apart.gt(0);
  if (rule.reference_source.defined()) {
    const at::Tensor rounded = rows_of(rule.reference_source, output.dim).to(device);
    const at::Tensor my_own = rounded.gather(-1, sure), their_own = rounded.gather(-1, theirs);
    unlike = unlike.logical_or(my_own.ne(their_own));
    // They may be an answer, and later kernels may find them in freed memory.
    poison_storage(my_own);
    poison_storage(their_own);
  }
  const at::Tensor near = inside.logical_and(unlike).logical_and(
      apart.le(allowed(tolerance, chosen.abs()) + allowed(tolerance, expected_one.abs())));
  const at::Tensor wrong = mine.ne(theirs).logical_and(near.logical_not());
  return wrong.sum().item<int64_t>() + repeated(mine);
}

}  // namespace kw::exec
