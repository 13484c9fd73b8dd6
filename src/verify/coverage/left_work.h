// Which work of the reference a candidate leaves to PyTorch as the reference has it.
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

// Both Tasks, in which the steps that both have are given (algebra.h).
struct LeftWork {
  Task reference, candidate;
};

// A step of the candidate is one of the reference if it is the same operator on the same tensors.
// Tensors are the same if the same steps make them of the same arguments and weights. Copies that
// only change the layout do not matter. What a kernel wrote is the same as nothing: nobody can tell
// which tensor of the reference it is.
LeftWork left_work(const Task& reference, const Task& candidate);

}  // namespace kw
