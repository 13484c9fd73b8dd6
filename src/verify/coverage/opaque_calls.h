// A candidate's calls of operators that the table does not have. Nobody knows what such an operator
// computes, so a candidate may call it as its reference does, and no more often.
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// Returns what a candidate calls that its reference does not, or more often, in one line; empty if
// there is nothing. Calls are equal if they have the same operator and the same arguments but for
// tensors.
std::string other_opaque_calls(const Task& reference, const Task& candidate);

}  // namespace kw
