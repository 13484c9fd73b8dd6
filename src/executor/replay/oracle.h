// The fp64 oracle: a recorded program rewritten so that every floating value is float64.
#pragma once

#include <vector>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw {

// Floating values become float64, and so do floating dtypes that steps name (casts, factories,
// accumulation types). Steps that read the random generator keep theirs: Replay::wide runs them as
// recorded and widens what they give. NotJudged (backend.h) for what has no such rewriting: a
// launch, a reinterpretation of a float's bits.
Program widened(const Program& program);

// Copies with floating tensors as float64; what shared memory before shares it after.
std::vector<at::Tensor> widened(const std::vector<at::Tensor>& tensors);

}  // namespace kw
