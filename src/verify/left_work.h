// Which work of the reference a candidate leaves to PyTorch as the reference has it.
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

struct LeftWork {
  Task reference;           // in which the steps that the candidate left are given (algebra.h)
  std::vector<bool> known;  // by step of the candidate's forward: whether the reference has it
};

// A step of the candidate is one of the reference if it is the same operator on the same tensors.
// Tensors are the same if the same steps make them of the same arguments and weights. Copies that
// only change the layout do not matter. What a kernel wrote is the same as nothing: nobody can tell
// which tensor of the reference it is.
LeftWork left_work(const Task& reference, const Task& candidate);

}  // namespace kw
