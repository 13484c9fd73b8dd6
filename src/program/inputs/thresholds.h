// Thresholds: numbers that a program names, beyond which it does something else. A draw may lie on
// one side of a threshold only, and then a kernel that leaves the other side out is not found.
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

struct Threshold {
  int step = 0;         // index of the forward step that names it
  ValueId operand = 0;  // whose elements lie on either side when the step runs
  double at = 0;
};

// Returns the thresholds of floating operands, each once, in order of steps. These are limits of
// clamps and of activations in pieces, and numbers that are compared with. 0 is none, because other
// signs are tried anyway; nor is what no number reaches (1e30 and more).
std::vector<Threshold> named_thresholds(const Program& forward);

}  // namespace kw
