// Operators with discontinuities: they make integers of numbers, or compare numbers. A value that
// is nearer to a discontinuity than its own rounding error is a near tie. Right programs may put it
// on either side.
#pragma once

#include <optional>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw::exec {

// Where an operator's result changes abruptly.
enum class Discontinuity {
  kMiddle,   // between two integers
  kInteger,  // at integers
  kZero      // at 0: of a number, or of the difference of the two that are compared
};

// A computed value is a near tie if its distance to a discontinuity is at most this many units in
// the last place. The units are those of the value, of the root mean square of all values, or of
// unit_of(), whichever is largest. If the value comes from products, near_tie_units_of_sums() is
// added.
constexpr double kNearTieUnits = 4;
// Returns eight times the error of one accumulator over `terms` terms (accumulator.h), in units.
double near_tie_units_of_sums(double terms);

// Returns where the operator that makes `result` of floating numbers is discontinuous, or nothing
// if it is continuous.
std::optional<Discontinuity> discontinuity_of(const Program& program, const AtenCall& call,
                                              ValueId result);

// Returns the least magnitude that numbers with this discontinuity are made of: 1 for integers, 0
// for differences.
double unit_of(Discontinuity discontinuity);

// Returns, for each of `values`, what has to be added to reach the nearest discontinuity. NaN and
// infinities have none and give NaN.
at::Tensor distance_to_discontinuity(Discontinuity discontinuity, const at::Tensor& values);

// Values that lie exactly at a discontinuity count as rounded only if they are at most one in
// kOneInAtDiscontinuity. If there are more, they are halves or integers by nature, and the operator
// defines to which side they go.
constexpr int64_t kOneInAtDiscontinuity = 1024;
// Returns float32 or float64 `values`, with near ties within `units` moved to the other side of
// their discontinuity.
at::Tensor across_near_discontinuities(Discontinuity discontinuity, const at::Tensor& values,
                                       double units = kNearTieUnits);

}  // namespace kw::exec
