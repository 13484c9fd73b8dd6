// The fp64 oracle is a recorded program that is rewritten so that every floating value is float64.
#pragma once

#include <vector>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw::exec {

// Returns the program with float64 for all floating values and for floating dtypes that steps name
// (casts, factories, accumulation types). Steps that read the random generator keep their dtypes;
// Replay::wide runs them as recorded and widens their results. Throws NotJudged (backend.h) for
// what cannot be rewritten: a launch, or a reinterpretation of a float's bits.
Program widened(const Program& program);

// Copies tensors, floating ones as float64. Tensors that shared memory share it afterwards.
std::vector<at::Tensor> widened(const std::vector<at::Tensor>& tensors);

}  // namespace kw::exec
