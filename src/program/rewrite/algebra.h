// Cheaper programs that are equal in real arithmetic, so in float64 up to rounding.
//
// A rule looks at a step and the only reader of its result. A linear map is a product or
// convolution with constant weights; new weights are made in `derive` (weights.h).
//
// - A factor before or after a map, and an addend after it, go into its weights. Batch norms in
//   evaluation are such factors and addends.
// - Two maps in a row become one. So does a sum of two maps of one input, or of two inputs with one
//   weight.
// - A mean, sum or average pool over dimensions that a map does not mix moves before it. One over
//   the features of the map's result goes into its weight.
//
// A rule applies on three conditions. The value between the two steps is float32 and has no other
// reader. The weights follow from state that forward does not write. And forward gets cheaper by
// cost.h: neither more operations nor more bytes, and less of one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

struct Simplified {
  Task task;  // strides of new values are a guess: record what is exported of it again
  std::vector<std::string> changes;  // in plain words, "a batch norm folded into a convolution"
};

// Rules applied until none does; nullopt when none did.
std::optional<Simplified> simplified(const Task& task);

// Returns the least price of a Task that the rules lead to, for comparison only: nothing is run. So
// rules apply to all floating-point types, and also where they lose digits. Addends before maps
// become biases, and convolutions become one of a larger window. A form is taken if its price is
// less.
using TaskPrice = std::function<double(const Task&)>;
double least_price(const Task& task, const TaskPrice& price);

// Marks a step whose result somebody else computes, as an argument of its call. Steps that a rule
// makes are not marked.
inline constexpr const char* kGiven = "kernelwright.given";

}  // namespace kw
