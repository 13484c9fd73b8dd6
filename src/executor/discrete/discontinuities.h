// Operators that make integers of numbers, or compare them: where they jump from one result to the
// next, values that are nearer than their rounding fall either way.
#pragma once

#include <optional>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw {

enum class Jump {
  kMiddle,   // between two integers
  kInteger,  // at them
  kZero      // at 0: of a number, or of the difference of the two that are compared
};

// A value that was computed is near a jump when it is no further from it than so many units in its
// last place, in that of the root mean square, or of unit_of(): kNearJump, and where products are
// behind it what near_jump_of_sums() says.
constexpr double kNearJump = 4;
// Eight times what one accumulator errs over so many terms (accumulator.h).
double near_jump_of_sums(double terms);

// Where the operator that makes `result` of floating numbers jumps; nothing of one that does not.
std::optional<Jump> jump_of(const Program& program, const AtenCall& call, ValueId result);

// What numbers that jump so are made of at least: integers of ones, differences of anything.
double unit_of(Jump jump);

// From each of `values` to the nearest jump: to add to it. NaN and Inf have none (NaN).
at::Tensor distance_to_jump(Jump jump, const at::Tensor& values);

// `values`, float32 or float64, on the other side of the jump where they are near one, within
// `units`. Those that are at a jump too, where they are as few as rounding makes them
// (kOneInAtJump): others are halves and integers by what they are, and which way they fall, the
// operator says.
constexpr int64_t kOneInAtJump = 1024;
at::Tensor beyond_near_jumps(Jump jump, const at::Tensor& values, double units = kNearJump);

}  // namespace kw
