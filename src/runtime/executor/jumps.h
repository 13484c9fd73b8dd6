// Operators that make integers of numbers: where they jump from one to the next, values that are
// nearer than their rounding fall either way.
#pragma once

#include <optional>

#include "program/program.h"
#include "runtime/executor/aten.h"

namespace kw {

enum class Jump {
  kMiddle,  // between two integers
  kInteger  // at them
};

// A value that was computed is near a jump when it is no further from it than this many units in
// its last place, in that of the root mean square, or of 1.
constexpr double kNearJump = 4;

// Where the operator that makes `result` of floating numbers jumps; nothing of one that does not.
std::optional<Jump> jump_of(const Program& program, const AtenCall& call, ValueId result);

// From each of `values` to the nearest jump: to add to it. NaN and Inf have none (NaN).
at::Tensor distance_to_jump(Jump jump, const at::Tensor& values);

// `values`, on the other side of the jump where they are near one. One that is at a jump stays:
// which way it falls, the operator says.
at::Tensor beyond_near_jumps(Jump jump, const at::Tensor& values);

}  // namespace kw
