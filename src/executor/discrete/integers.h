// Trials on integers. If a program only adds and multiplies, small integers give integers, whatever
// the order of sums and in any precision that holds them. An answer is then right if it is off by
// less than a quarter. An element that is missing, doubled or taken from elsewhere is off by one or
// more. So such a trial sees faults that the rounding of a long sum hides elsewhere.
#pragma once

#include "executor/aten/aten.h"

namespace kw::exec {

// Replaces each number of a flat tensor, in place, by an integer of magnitude at most 2. In half
// types it is at most 1, as their range is soon full. The integer depends on the number and the
// seed: equal numbers stay equal, opposite ones opposite. -2 to 2, infinities and NaN stay as they
// are. So a triangular, symmetric or one-hot matrix stays one.
void make_integers(at::Tensor& flat, uint64_t seed);

struct IntegerAnswers {
  bool whole = true;   // every element of the oracle is an integer
  int64_t judged = 0;  // elements that the dtype holds exactly, with room for a float's rounding
  int64_t wrong = 0;   // those of them that are off by a quarter or more
};
// Compares `got` with the float64 oracle, on the device of `got`.
IntegerAnswers integer_answers(const at::Tensor& got, const at::Tensor& oracle);

}  // namespace kw::exec
