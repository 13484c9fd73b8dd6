#include "program/inputs/sources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "program/cost.h"
#include "program/makers.h"

namespace kw {
namespace {

bool has_equal_numbers(const AtenCall& call) {
  if (is_one_of(call.op, {"zeros", "ones", "full"})) return true;
  const ArgList* data = numbers_of(call);
  return data && !data->empty() &&
         std::ranges::all_of(*data, [&](const Arg& item) { return item == data->front(); });
}

bool is_in_order(const ArgList& data) {
  return std::ranges::is_sorted(data, [](const Arg& a, const Arg& b) {
    const auto *x = std::get_if<int64_t>(&a.v), *y = std::get_if<int64_t>(&b.v);
    return x && y && *x < *y;
  });
}

// Whether numbers in the text are lengths, labels or the like, or are in order.
bool has_numbers_to_lower(const AtenCall& call) {
  if (has_equal_numbers(call)) return true;
  if (is_one_of(call.op, {"arange"})) return call.find("step");
  const ArgList* data = numbers_of(call);
  return data && std::ranges::none_of(*data, [](const Arg& item) {
           const auto* number = std::get_if<int64_t>(&item.v);
           return number && *number < 0;
         });
}

bool are_apart(const AtenCall& call) {
  if (is_one_of(call.op, {"arange", "randperm"})) return true;
  const ArgList* data = numbers_of(call);
  for (size_t i = 0; data && i < data->size(); ++i) {
    if (std::find(data->begin(), data->begin() + static_cast<int64_t>(i), (*data)[i]) !=
        data->begin() + static_cast<int64_t>(i)) {
      return false;
    }
  }
  return data && data->size() > 1;
}

bool has_an_order_to_change(const AtenCall& call) {
  if (is_one_of(call.op, {"randperm"})) return true;
  if (is_one_of(call.op, {"arange"})) return !call.find("step");
  const ArgList* data = numbers_of(call);
  return data && !is_in_order(*data);
}

// Returns whether a value follows from numbers in the text alone.
bool is_of_text(const Program& program, ValueId id) {
  const AtenCall* maker = maker_of(program, id);
  if (!maker || is_random(*maker) || is_overwritten(program, id)) return false;
  const std::vector<ValueId> operands = operands_of(*maker);
  return std::ranges::all_of(operands,
                             [&](ValueId operand) { return is_of_text(program, operand); });
}

// Returns the number of the text that an argument is, if no fraction is left.
std::optional<int64_t> whole_number(const Arg& arg) {
  if (const auto* number = std::get_if<int64_t>(&arg.v)) return *number;
  const auto* number = std::get_if<double>(&arg.v);
  constexpr double kExact = 1ll << 53;
  if (!number || !(std::abs(*number) < kExact) || std::floor(*number) != *number) return {};
  return static_cast<int64_t>(*number);
}

bool is_random_source(const AtenCall& call) { return is_one_of(call.op, {"randint"}); }

}  // namespace

SourcedInputs split_sources(const Program& inputs) {
  SourcedInputs out;
  out.made.values = out.rest.values = inputs.values;
  out.rest.inputs = inputs.inputs;
  out.rest.outputs = inputs.outputs;
  for (const Step& step : inputs.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const bool source = call && operands_of(*call).empty() && call->results.size() == 1 &&
                        call->results.front() >= 0;
    if (!source) {
      out.rest.steps.push_back(step);
      continue;
    }
    const ValueId id = call->results.front();
    out.made.steps.push_back(step);
    out.made.outputs.push_back(id);
    out.rest.inputs.push_back(id);
    out.sources.push_back({id, *call, are_apart(*call)});
  }
  return out;
}

bool applies(SourceChange change, const Program& made, const Source& source) {
  const Value& value = made.values[source.id];
  if (is_floating(real_type(value.dtype)) || value.numel() == 0) return false;
  const bool flags = value.dtype == DType::kBool, many = value.numel() > 1;
  switch (change) {
    case SourceChange::kEnds:
      return many && is_random_source(source.maker);
    case SourceChange::kNamed:
      return !flags;
    case SourceChange::kShuffle:
      return many && has_an_order_to_change(source.maker);
    case SourceChange::kOther:
      return flags ? has_equal_numbers(source.maker) : has_numbers_to_lower(source.maker);
  }
  return false;
}

std::vector<bool> are_tables(const Program& inputs) {
  std::vector<bool> out;
  for (const ValueId id : inputs.outputs) {
    const AtenCall* maker = maker_of(inputs, id);
    const bool computed = maker && !operands_of(*maker).empty();
    out.push_back(computed && is_floating(inputs.values[id].dtype) && is_of_text(inputs, id));
  }
  return out;
}

std::vector<SourceChange> source_changes(const Task& task) {
  if (!runs_on_cpu(task)) return {};
  const SourcedInputs split = split_sources(task.inputs);
  std::vector<SourceChange> out;
  for (const SourceChange change :
       {SourceChange::kEnds, SourceChange::kNamed, SourceChange::kShuffle, SourceChange::kOther}) {
    if (change == SourceChange::kNamed && named_integers(task.forward).empty()) continue;
    const bool some = std::ranges::any_of(
        split.sources, [&](const Source& source) { return applies(change, split.made, source); });
    if (some) out.push_back(change);
  }
  return out;
}

std::vector<int64_t> named_integers(const Program& forward) {
  std::set<int64_t> out;
  // Beside a limit, so that there are numbers on either side of it.
  const auto add_limit = [&](int64_t number) { out.insert({number - 1, number, number + 1}); };
  const auto add = [&](const Arg* arg, bool limit) {
    const auto number = arg ? whole_number(*arg) : std::nullopt;
    if (number && limit) add_limit(*number);
    if (number && !limit) out.insert(*number);
  };
  for (const Step& step : forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call) continue;
    add(call->find("ignore_index"), false);
    const Arg* self = call->find("self");
    if (is_one_of(call->op, {"relu", "relu_", "abs", "abs_", "sign", "sign_", "sgn", "sgn_",
                             "leaky_relu", "leaky_relu_"}) &&
        self && self->is_value() && is_integral(forward.values[self->value()].dtype)) {
      add_limit(0);
    }
    if (is_one_of(call->op,
                  {"clamp", "clamp_", "clamp_min", "clamp_min_", "clamp_max", "clamp_max_"})) {
      add(call->find("min"), true);
      add(call->find("max"), true);
    }
    const bool limit =
        is_one_of(call->op, {"lt", "le", "gt", "ge", "lt_", "le_", "gt_", "ge_", "maximum",
                             "minimum", "remainder", "remainder_", "fmod", "fmod_"});
    if (!limit && !is_one_of(call->op, {"eq", "ne", "eq_", "ne_"})) continue;
    const Arg* other = call->find("other");
    add(other, limit);
    if (!other || !other->is_value()) continue;
    const AtenCall* maker = maker_of(forward, behind_views(forward, other->value()));
    const ArgList* data = maker ? numbers_of(*maker) : nullptr;
    for (size_t i = 0; data && i < data->size(); ++i) add(&(*data)[i], limit);
  }
  return {out.begin(), out.end()};
}

bool writes_by_index(const Program& forward) {
  return std::ranges::any_of(forward.steps, [](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call) return false;
    const Arg* accumulate = call->find("accumulate");
    if (accumulate && accumulate->v == decltype(accumulate->v)(true)) return false;
    return is_one_of(call->op, {"index_put", "index_put_", "_unsafe_index_put", "scatter",
                                "scatter_", "index_copy", "index_copy_", "put", "put_"});
  });
}

}  // namespace kw
