#include "runtime/executor/choices.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "ops/operator.h"
#include "runtime/executor/guards.h"

namespace kw {
namespace {

// As errors of values: a candidate's may be so many times the reference's (docs/numerics.md). Each
// of two elements may be off by as much.
constexpr double kWorstFactor = 8;
// Of the largest element along the dimension, where the reference had the luck of no rounding
// there.
constexpr double kFloor = 4;  // units in the last place

bool is_contiguous(const Value& value) {
  int64_t step = 1;
  for (size_t d = value.shape.size(); d-- > 0;) {
    if (value.shape[d] != 1 && value.strides[d] != step) return false;
    step *= value.shape[d];
  }
  return true;
}

const AtenCall* maker_of(const Program& program, ValueId id) {
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (call && std::count(call->results.begin(), call->results.end(), id)) return call;
  }
  return nullptr;
}

// What has the same elements in the same order: a view between two contiguous tensors.
ValueId behind_views(const Program& program, ValueId id) {
  for (const AtenCall* call = maker_of(program, id); call; call = maker_of(program, id)) {
    const OperatorRow* row = find_operator(call->op);
    const Arg* self = call->find("self");
    if (!row || row->cls != OpClass::kView || !self || !self->is_value()) break;
    const Value &from = program.values[self->value()], &to = program.values[id];
    if (!is_contiguous(from) || !is_contiguous(to) || from.numel() != to.numel()) break;
    id = self->value();
  }
  return id;
}

bool is_overwritten(const Program& program, ValueId id) {
  const int storage = program.values[id].storage;
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    return !call || std::any_of(call->mutated.begin(), call->mutated.end(), [&](ValueId written) {
      return program.values[written].storage == storage;
    });
  });
}

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

// Places along the last dimension that name an element which another place names too.
int64_t repeated(const at::Tensor& rows) {
  if (rows.size(-1) < 2) return 0;
  const at::Tensor sorted = std::get<0>(rows.sort(-1));
  return sorted.diff(1, -1).eq(0).sum().item<int64_t>();
}

}  // namespace

std::vector<Choice> find_choices(const Program& program) {
  std::vector<Choice> out;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (program.values[program.outputs[i]].dtype != DType::kInt64) continue;
    const AtenCall* call = maker_of(program, behind_views(program, program.outputs[i]));
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    const Arg* self = call ? call->find("self") : nullptr;
    if (!row || row->numerics != Numerics::kChoice || !self || !self->is_value()) continue;
    const ValueId among = self->value();
    const Value& value = program.values[among];
    if (!is_floating(value.dtype) || value.numel() == 0 || is_overwritten(program, among)) continue;
    out.push_back({i, among, dimension(*call, *row)});
  }
  return out;
}

ChoiceRule choice_rule(const Choice& choice, const at::Tensor& reference,
                       const at::Tensor& oracle) {
  const at::Tensor among = rows_of(oracle, choice.dim);
  const at::Tensor error = (rows_of(reference, choice.dim).to(at::kDouble) - among).abs();
  const double eps = dtype_eps(dtype_of(reference.scalar_type()));
  const at::Tensor floor = among.abs().amax({-1}, true).mul(kFloor * eps);
  const at::Tensor slack = at::maximum(error.amax({-1}, true).mul(2 * kWorstFactor), floor);
  // What no operation rounded has no near ties.
  return {oracle, error.eq(0).all().item<bool>() ? at::zeros_like(slack) : slack};
}

int64_t wrong_choices(const Choice& choice, const ChoiceRule& rule, const at::Tensor& got,
                      const at::Tensor& expected) {
  const at::Device device = got.device();
  const at::Tensor among = rows_of(rule.among, choice.dim).to(device);
  const at::Tensor mine = index_rows(choice, rule.among, got),
                   theirs = index_rows(choice, rule.among, expected.to(device));
  const at::Tensor inside = mine.ge(0).logical_and(mine.lt(among.size(-1)));
  const at::Tensor apart =
      (among.gather(-1, at::where(inside, mine, theirs)) - among.gather(-1, theirs)).abs();
  const at::Tensor near =
      inside.logical_and(apart.gt(0)).logical_and(apart.le(rule.slack.to(device)));
  const at::Tensor wrong = mine.ne(theirs).logical_and(near.logical_not());
  return wrong.sum().item<int64_t>() + repeated(mine);
}

}  // namespace kw
