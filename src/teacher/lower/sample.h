// Interpolation: the elements that a position is interpolated from, shared by resampling and grids.
#pragma once

#include <vector>

#include "teacher/lower/rules.h"

namespace kw::teacher {

// One of those elements.
struct Sample {
  Position position;
  int weight = -1;  // node; -1: one
};

// The weights of the four elements around a position, in order. {0} is the distance from the
// nearest element below, which is the second. This is Keys' cubic convolution with a = -0.75, as in
// PyTorch.
inline constexpr const char* kCubicWeights[] = {
    "((-0.75 * ({0} + 1.0) + 3.75) * ({0} + 1.0) - 6.0) * ({0} + 1.0) + 3.0",
    "(1.25 * {0} - 2.25) * {0} * {0} + 1.0",
    "(1.25 * (1.0 - {0}) - 2.25) * (1.0 - {0}) * (1.0 - {0}) + 1.0",
    "((-0.75 * (2.0 - {0}) + 3.75) * (2.0 - {0}) - 6.0) * (2.0 - {0}) + 3.0"};

// Returns the node of the weighted sum over dimensions `next` and later, with the positions `at` of
// those before. An element counts as 0 unless the conditions `guards` hold.
int sampled(Builder& b, const Tensor& t, const std::vector<std::vector<Sample>>& dims, size_t next,
            const Positions& at, const std::vector<int>& guards = {});

}  // namespace kw::teacher
