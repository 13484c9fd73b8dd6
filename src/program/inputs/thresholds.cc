#include "program/inputs/thresholds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

// Returns the numbers of the text that an argument is: one, or those that a tensor is made of.
std::vector<double> numbers_in_text(const Program& program, const Arg& arg) {
  if (const auto* number = std::get_if<double>(&arg.v)) return {*number};
  if (const auto* number = std::get_if<int64_t>(&arg.v)) return {static_cast<double>(*number)};
  if (!arg.is_value()) return {};
  const AtenCall* maker = maker_of(program, behind_views(program, arg.value()));
  if (!maker) return {};
  if (const ArgList* list = numbers_of(*maker)) {
    std::vector<double> out;
    for (const Arg& item : *list)
      std::ranges::copy(numbers_in_text(program, item), std::back_inserter(out));
    return out;
  }
  if (!is_one_of(maker->op, {"full", "full_like", "new_full", "scalar_tensor"})) return {};
  const Arg* filled = maker->find(is_one_of(maker->op, {"scalar_tensor"}) ? "s" : "fill_value");
  return filled && !filled->is_value() ? numbers_in_text(program, *filled) : std::vector<double>{};
}

// The same of an argument of the forward, which may be a buffer that `init` makes of such numbers.
std::vector<double> numbers_in_text(const Task& task, const Arg& arg) {
  const std::vector<ValueId>& inputs = task.forward.inputs;
  const size_t states = std::min(task.state.size(), task.init.outputs.size());
  for (size_t i = 0; arg.is_value() && i < states; ++i) {
    if (inputs[i] == behind_views(task.forward, arg.value())) {
      return numbers_in_text(task.init, {ValueRef{task.init.outputs[i]}});
    }
  }
  return numbers_in_text(task.forward, arg);
}

// Returns the one number that an argument is.
std::optional<double> number_of(const Program& program, const Arg& arg) {
  const std::vector<double> numbers = numbers_in_text(program, arg);
  return numbers.size() == 1 ? std::optional(numbers.front()) : std::nullopt;
}

// Returns the values that follow from a task's inputs, or from random numbers.
std::vector<bool> drawn_values(const Task& task) {
  const Program& forward = task.forward;
  Following drawn(forward, task.kernels);
  const size_t first = forward.inputs.size() - task.inputs.outputs.size();
  for (size_t i = first; i < forward.inputs.size(); ++i) drawn.add(forward.inputs[i]);
  std::vector<bool> out(forward.values.size());
  for (const ValueId id : forward.inputs) out[id] = drawn.has(id);
  for (const Step& step : forward.steps) {
    const bool follows = drawn.pass(step, is_random(step));
    for (const ValueId id : step_defines(step)) {
      if (id >= 0) out[id] = follows;
    }
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
    if (!call) continue;
    const bool buckets = is_one_of(call->op, {"bucketize", "searchsorted"});
    if (!buckets && !is_one_of(call->op, {"eq", "ne", "gt", "ge", "lt", "le"})) continue;
    const Arg* self = call->find("self");
    const Arg* other = call->find(!buckets                   ? "other"
                                  : call->find("boundaries") ? "boundaries"
                                                             : "sorted_sequence");
    if (!self || !other) continue;
    for (const auto& [operand, limit] : {std::pair(self, other), std::pair(other, self)}) {
      if (!operand->is_value()) continue;
      const ValueId id = viewed_value(forward, operand->value());
      const auto input =
          std::find(forward.inputs.begin() + static_cast<int64_t>(first), forward.inputs.end(), id);
      if (input == forward.inputs.end()) continue;
      std::vector<double>& numbers =
          out[static_cast<size_t>(input - forward.inputs.begin()) - first];
      std::ranges::copy_if(numbers_in_text(task, *limit), std::back_inserter(numbers),
                           [](double number) { return std::isfinite(number); });
    }
  }
  return out;
}

}  // namespace kw
