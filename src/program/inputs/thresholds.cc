#include "program/inputs/thresholds.h"

#include <algorithm>
#include <cmath>
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

// Whether a number was added to a value, before signs and factors: then zero is a threshold like
// any other, as that of a hinge loss is.
bool is_shifted(const Program& program, ValueId id) {
  const AtenCall* maker = maker_of(program, behind_views(program, id));
  if (!maker) return false;
  const Arg *self = maker->find("self"), *other = maker->find("other");
  if (is_one_of(maker->op, {"add", "add_", "sub", "sub_", "rsub"})) {
    return other && (number_of(program, *other) || (self && number_of(program, *self)));
  }
  if (!is_one_of(maker->op, {"neg", "neg_", "mul", "mul_", "div", "div_"})) return false;
  if (self && self->is_value() && !number_of(program, *self)) {
    if (is_shifted(program, self->value())) return true;
  }
  return other && other->is_value() && !number_of(program, *other) &&
         is_shifted(program, other->value());
}

// Collects thresholds, each once.
class Found {
 public:
  explicit Found(const Program& forward) : forward_(forward) {}

  void add_number(size_t step, ValueId operand, double at) {
    constexpr double kBeyondReach = 1e30;
    if (!(std::abs(at) < kBeyondReach)) return;
    if (at == 0 && !is_shifted(forward_, operand)) return;
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
  const Program& forward_;
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

std::vector<Threshold> named_thresholds(const Program& forward) {
  Found found(forward);
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
      const ValueId id = behind_views(forward, operand->value());
      for (size_t i = 0; i < count; ++i) {
        if (forward.inputs[first + i] == id) out[i].push_back(*number);
      }
    }
  }
  return out;
}

}  // namespace kw
