// Trials on integers. Where a program only adds and multiplies, small integers give integers, in
// any order of sums and in any precision that holds them. An answer that is off by less than a
// quarter is right then, and one element that is missing, doubled or taken from elsewhere is off by
// one or more: such a trial sees what elsewhere hides in the rounding of a long sum.
#pragma once

#include "executor/aten/aten.h"

namespace kw {

// Replaces each number of a flat tensor, in place, by an integer of magnitude 2 at most (1 in half
// types, whose range is soon full). Which one follows from the number and the seed, so that equal
// ones stay equal and opposite ones opposite; -2 to 2, infinities and NaN stay as they are. What a
// matrix is known for (triangular, symmetric, one-hot) it still is.
void make_integers(at::Tensor& flat, uint64_t seed);

struct IntegerAnswers {
  bool whole = true;   // every element of the oracle is an integer
  int64_t judged = 0;  // elements that the dtype holds exactly, with room for a float's rounding
  int64_t wrong = 0;   // of them, elements that are off by a quarter or more
};
// `got` against the float64 oracle, on the device of `got`.
IntegerAnswers integer_answers(const at::Tensor& got, const at::Tensor& oracle);

}  // namespace kw
