// Cheaper programs that are equal in real arithmetic, so in float64 up to rounding.
//
// Rules look at a step and the only reader of its result. Linear maps (products and convolutions
// with constant weights) take up factors beside them and addends behind them, batch norms in
// evaluation among these; two in a row become one; means, sums and average pools over what a map
// does not mix move in front of it, those over its result's features into its weight. New weights
// are made in `derive` (weights.h). A rule applies where the value between the two steps is float32
// and seen by nobody else, the weights follow from state that forward does not write, and forward
// gets cheaper by cost.h: neither more operations nor more bytes, and less of one.
#pragma once

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

}  // namespace kw
