#include "program/inputs/thresholds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "ops/operator.h"
#include "program/makers.h"

namespace kw {
namespace {

// An operator whose arguments are thresholds of `operand`. `fallback` counts if an argument is left
// at its default.
struct Named {
  std::string_view op;  // without "aten." and overload; in place counts too
  std::string_view operand;
  std::string_view argument;  // empty: the threshold is always `fallback`
  std::optional<double> fallback = std::nullopt;
  bool both_signs = false;
  std::string_view divisor = "";  // an argument that the threshold is divided by
};

// Defaults are those of PyTorch's schemas. Losses compare the difference of two operands, which one
// of them alone can enlarge.
constexpr Named kNamed[] = {
    {"clamp", "self", "min"},
    {"clamp", "self", "max"},
    {"clip", "self", "min"},
    {"clip", "self", "max"},
    {"clamp_min", "self", "min"},
    {"clamp_max", "self", "max"},
    {"hardtanh", "self", "min_val", -1.0},
    {"hardtanh", "self", "max_val", 1.0},
    {"relu", "self", "", 0.0},
    {"leaky_relu", "self", "", 0.0},
    {"elu", "self", "", 0.0},
    {"abs", "self", "", 0.0},
    {"sign", "self", "", 0.0},
    {"floor", "self", "", 1.0, true},
    {"ceil", "self", "", 1.0, true},
    {"trunc", "self", "", 1.0, true},
    {"frac", "self", "", 1.0, true},
    {"round", "self", "", 1.0, true},
    {"remainder", "self", "other", std::nullopt, true},
    {"fmod", "self", "other", std::nullopt, true},
    {"relu6", "self", "", 6.0},
    {"hardswish", "self", "", 3.0, true},
    {"hardsigmoid", "self", "", 3.0, true},
    {"threshold", "self", "threshold"},
    {"hardshrink", "self", "lambd", 0.5, true},
    {"softshrink", "self", "lambd", 0.5, true},
    {"softplus", "self", "threshold", 20.0, false, "beta"},
    {"smooth_l1_loss", "self", "beta", 1.0, true},
    {"huber_loss", "self", "delta", 1.0, true},
    {"gt", "self", "other"},
    {"gt", "other", "self"},
    {"ge", "self", "other"},
    {"ge", "other", "self"},
    {"lt", "self", "other"},
    {"lt", "other", "self"},
    {"le", "self", "other"},
    {"le", "other", "self"},
    {"maximum", "self", "other"},
    {"maximum", "other", "self"},
    {"minimum", "self", "other"},
    {"minimum", "other", "self"},
    {"fmax", "self", "other"},
    {"fmax", "other", "self"},
    {"fmin", "self", "other"},
    {"fmin", "other", "self"},
};

// Returns the number that an argument is: one in the text, or a tensor of one number in the text.
std::optional<double> number_of(const Program& program, const Arg& arg) {
  if (const auto* number = std::get_if<double>(&arg.v)) return *number;
  if (const auto* number = std::get_if<int64_t>(&arg.v)) return static_cast<double>(*number);
  if (!arg.is_value()) return std::nullopt;
  const AtenCall* maker = maker_of(program, behind_views(program, arg.value()));
  if (!maker) return std::nullopt;
  if (const ArgList* list = numbers_of(*maker)) {
    return list->size() == 1 ? number_of(program, list->front()) : std::nullopt;
  }
  if (!is_one_of(maker->op, {"full", "full_like", "new_full", "scalar_tensor"}))
    return std::nullopt;
  const Arg* filled = maker->find(is_one_of(maker->op, {"scalar_tensor"}) ? "s" : "fill_value");
  return filled && !filled->is_value() ? number_of(program, *filled) : std::nullopt;
}

// Returns the value that `id` is a view of, of all its elements or of some.
ValueId viewed(const Program& program, ValueId id) {
  for (const AtenCall* call = maker_of(program, id); call; call = maker_of(program, id)) {
    const OperatorRow* row = find_operator(call->op);
    const Arg* self = call->find("self");
    if (!row || row->cls != OpClass::kView || !self || !self->is_value()) break;
    id = self->value();
  }
  return id;
}

// Returns the values that follow from a task's inputs, or from random numbers.
std::vector<bool> drawn_values(const Task& task) {
  const Program& forward = task.forward;
  std::vector<bool> out(forward.values.size());
  std::set<int> storages;
  const auto add = [&](ValueId id) {
    if (id < 0) return;
    out[id] = true;
    storages.insert(forward.values[id].storage);
  };
  const size_t first = forward.inputs.size() - task.inputs.outputs.size();
  for (size_t i = first; i < forward.inputs.size(); ++i) add(forward.inputs[i]);
  for (const Step& step : forward.steps) {
    const std::vector<ValueId> reads = step_reads(step, task.kernels);
    const bool follows = is_random(step) || std::ranges::any_of(reads, [&](ValueId id) {
                           return out[id] || storages.contains(forward.values[id].storage);
                         });
    if (!follows) continue;
    for (const ValueId id : step_defines(step)) add(id);
    for (const ValueId id : step_writes(step, task.kernels)) add(id);
  }
  return out;
}

// Collects thresholds, each once.
class Found {
 public:
  explicit Found(const Task& task) : forward_(task.forward), drawn_(drawn_values(task)) {}

  void add_number(size_t step, ValueId operand, double at) {
    constexpr double kBeyondReach = 1e30;
    if (!(std::abs(at) < kBeyondReach)) return;
    if (at == 0 && !is_shifted(operand)) return;
    const bool known = std::ranges::any_of(all, [&](const Threshold& other) {
      return !other.limit && other.operand == operand && other.at == at;
    });
    if (!known) all.push_back({static_cast<int>(step), operand, at});
  }
  void add_tensor(size_t step, ValueId operand, ValueId limit) {
    const bool known = std::ranges::any_of(all, [&](const Threshold& other) {
      return (other.operand == operand && other.limit == limit) ||
             (other.operand == limit && other.limit == operand);
    });
    if (!known) all.push_back({static_cast<int>(step), operand, 0, limit});
  }

  std::vector<Threshold> all;

 private:
  // Whether an argument is a number, or a tensor of the state.
  bool is_fixed(const Arg& arg) const { return !arg.is_value() || !drawn_[arg.value()]; }
  // Whether something fixed was added to a value, before signs and factors: then zero is a
  // threshold like any other, as that of a hinge loss is.
  bool is_shifted(ValueId id) const {
    const AtenCall* maker = maker_of(forward_, behind_views(forward_, id));
    const Arg* self = maker ? maker->find("self") : nullptr;
    const Arg* other = maker ? maker->find("other") : nullptr;
    if (!self) return false;
    if (is_one_of(maker->op, {"add", "add_", "sub", "sub_", "rsub"})) {
      return other && is_fixed(*self) != is_fixed(*other);
    }
    if (!is_one_of(maker->op, {"neg", "neg_", "mul", "mul_", "div", "div_"})) return false;
    return std::ranges::any_of(std::array{self, other}, [&](const Arg* arg) {
      return arg && !is_fixed(*arg) && is_shifted(arg->value());
    });
  }

  const Program& forward_;
  const std::vector<bool> drawn_;
};

void add_of(const Program& forward, size_t step, const AtenCall& call, const Named& named,
            Found& found) {
  const Arg* operand = call.find(named.operand);
  if (!operand || !operand->is_value() || number_of(forward, *operand)) return;
  if (!is_floating(forward.values[operand->value()].dtype)) return;
  const Arg* argument = call.find(named.argument);
  if (auto at = argument ? number_of(forward, *argument) : named.fallback) {
    const Arg* divisor = call.find(named.divisor);
    *at /= divisor ? number_of(forward, *divisor).value_or(1) : 1;
    found.add_number(step, operand->value(), *at);
    if (named.both_signs) found.add_number(step, operand->value(), -*at);
  } else if (argument && argument->is_value()) {
    found.add_tensor(step, operand->value(), argument->value());
  }
}

}  // namespace

std::vector<Threshold> named_thresholds(const Task& task) {
  const Program& forward = task.forward;
  Found found(task);
  for (size_t i = 0; i < forward.steps.size(); ++i) {
    const auto* call = std::get_if<AtenCall>(&forward.steps[i]);
    if (!call) continue;
    for (const Named& named : kNamed) {
      const std::string in_place = std::string(named.op) + "_";
      if (is_one_of(call->op, {named.op, in_place})) add_of(forward, i, *call, named, found);
    }
  }
  return found.all;
}

std::vector<std::vector<double>> compared_numbers(const Task& task) {
  const Program& forward = task.forward;
  const size_t count = task.inputs.outputs.size(), first = forward.inputs.size() - count;
  std::vector<std::vector<double>> out(count);
  for (const Step& step : forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call || !is_one_of(call->op, {"eq", "ne", "gt", "ge", "lt", "le"})) continue;
    const Arg *self = call->find("self"), *other = call->find("other");
    if (!self || !other) continue;
    for (const auto& [operand, limit] : {std::pair(self, other), std::pair(other, self)}) {
      const auto number = number_of(forward, *limit);
      if (!number || !std::isfinite(*number) || !operand->is_value()) continue;
      const ValueId id = viewed(forward, operand->value());
      for (size_t i = 0; i < count; ++i) {
        if (forward.inputs[first + i] == id) out[i].push_back(*number);
      }
    }
  }
  return out;
}

}  // namespace kw
