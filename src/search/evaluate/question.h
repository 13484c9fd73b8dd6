// What a model is asked about a fragment: the function that the fragment computes, in a form that
// is usual in the programs that models have read. Two things are rare in those programs, but not in
// fragments that are cut out of a program. A step may read an operand twice, as bmm(t, t) does. And
// an operand may lie in memory in another order than its shape, as what is computed from a
// transposed tensor does.
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

struct Question {
  Task task;  // only its forward is asked about; the task is never run
  // Text to append to the source of an answer, which defines a ModelNew for the question. It
  // defines a ModelNew for the fragment. Empty if they are the same.
  std::string adapter;
};

// Returns the question about a fragment. Each operand that a step reads twice becomes two
// arguments. If the fragment is a single pointwise operator whose result lies in memory in another
// order of dimensions, all dimensions are put in that order. Any other dense argument in another
// order becomes a view of one in the usual order. A fragment that writes in place, or launches
// kernels, is asked about as it is.
Question question_of(const Task& fragment);

}  // namespace kw
