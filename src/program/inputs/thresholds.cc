#include "program/inputs/thresholds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

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
    {"relu6", "self", "", 6.0},
    {"hardswish", "self", "", 3.0, true},
    {"hardsigmoid", "self", "", 3.0, true},
    {"threshold", "self", "threshold"},
    {"hardshrink", "self", "lambd", 0.5, true},
    {"softshrink", "self", "lambd", 0.5, true},
    {"softplus", "self", "threshold", 20.0},
    {"smooth_l1_loss", "self", "beta", 1.0, true},
    {"huber_loss", "self", "delta", 1.0, true},
    {"gt", "self", "other"},
    {"ge", "self", "other"},
    {"lt", "self", "other"},
    {"le", "self", "other"},
    {"maximum", "self", "other"},
    {"minimum", "self", "other"},
    {"fmax", "self", "other"},
    {"fmin", "self", "other"},
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

}  // namespace

std::vector<Threshold> named_thresholds(const Program& forward) {
  constexpr double kBeyondReach = 1e30;
  std::vector<Threshold> out;
  const auto add = [&](size_t step, ValueId operand, double at) {
    if (at == 0 || !(std::abs(at) < kBeyondReach)) return;
    const bool known = std::ranges::any_of(
        out, [&](const Threshold& other) { return other.operand == operand && other.at == at; });
    if (!known) out.push_back({static_cast<int>(step), operand, at});
  };
  for (size_t i = 0; i < forward.steps.size(); ++i) {
    const auto* call = std::get_if<AtenCall>(&forward.steps[i]);
    if (!call) continue;
    for (const Named& named : kNamed) {
      const std::string in_place = std::string(named.op) + "_";
      if (!is_one_of(call->op, {named.op, in_place})) continue;
      const Arg* operand = call->find(named.operand);
      if (!operand || !operand->is_value()) continue;
      if (!is_floating(forward.values[operand->value()].dtype)) continue;
      const Arg* argument = call->find(named.argument);
      const auto at = argument ? number_of(forward, *argument) : named.fallback;
      if (!at) continue;
      add(i, operand->value(), *at);
      if (named.both_signs) add(i, operand->value(), -*at);
    }
  }
  return out;
}

}  // namespace kw
