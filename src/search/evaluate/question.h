// What a model is asked about a fragment: the function that it computes, said as programs say it
// that models have read. An operand that a step reads twice, and one that lies in memory unlike its
// shape, are rare there; cut out of a program they are not (bmm(t, t); what is computed of a
// transposed tensor).
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

struct Question {
  Task task;  // its forward is meant: nobody runs it
  // Behind the source of an answer to it, which defines ModelNew: one for the fragment. Empty where
  // they are the same.
  std::string adapter;
};

// Each operand that a step reads twice becomes two arguments. A single pointwise operator whose
// result lies in memory in another order of dimensions is asked about with all dimensions in that
// order. What is a dense argument in another order then is a view of one that is not. A fragment
// that writes in place, or launches kernels, is asked about as it is.
Question question_of(const Task& fragment);

}  // namespace kw
