// Interpolation: one of the elements that a position is interpolated from.
#pragma once

#include "teacher/lower/lowering.h"

namespace kw::teacher {

struct Lowering::Sample {
  Position position;
  int weight = -1;  // node; -1: one
};

// Of the element before a position, of both sides of it, and behind; {0} is the distance from the
// nearest element below (Keys' cubic convolution with a = -0.75, as PyTorch's).
inline constexpr const char* kCubicWeights[] = {
    "((-0.75 * ({0} + 1.0) + 3.75) * ({0} + 1.0) - 6.0) * ({0} + 1.0) + 3.0",
    "(1.25 * {0} - 2.25) * {0} * {0} + 1.0",
    "(1.25 * (1.0 - {0}) - 2.25) * (1.0 - {0}) * (1.0 - {0}) + 1.0",
    "((-0.75 * (2.0 - {0}) + 3.75) * (2.0 - {0}) - 6.0) * (2.0 - {0}) + 3.0"};

}  // namespace kw::teacher
