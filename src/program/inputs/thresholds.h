// Thresholds: numbers that a program names, beyond which it does something else. A draw may lie on
// one side of a threshold only, and then a kernel that leaves the other side out is not found.
#pragma once

#include <optional>
#include <vector>

#include "program/program.h"

namespace kw {

// Where a draw crosses none of more thresholds than this, trials try this many of them.
inline constexpr size_t kMostThresholds = 8;

struct Threshold {
  int step = 0;         // index of the forward step that names it
  ValueId operand = 0;  // whose elements lie on either side when the step runs
  double at = 0;        // unless it is in a tensor:
  std::optional<ValueId> limit = std::nullopt;
};

// Returns the thresholds of floating operands of a task's forward, each once, in order of steps.
// These are limits of clamps and of activations in pieces, what is compared with, and where
// roundings and remainders jump first. 0 counts only where something was added before that no input
// makes, because other signs are tried anyway. What no number reaches (1e30 and more) does not
// count.
std::vector<Threshold> named_thresholds(const Task& task);

// Returns, for each input of a task, the numbers in the text that its elements are compared with
// as they are. Only elements that are equal to them show whether such a comparison includes them.
std::vector<std::vector<double>> compared_numbers(const Task& task);

}  // namespace kw
