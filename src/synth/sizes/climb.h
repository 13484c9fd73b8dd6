// A large value of FLOPs that a problem's sizes can reach.
#pragma once

#include "synth/sizes/size_problem.h"

namespace kw {

// Returns a large value of FLOPs under all limits but the window, by a deterministic ascent that
// ends once it has `enough`. docs/synthesis.md says how near the largest value it comes.
double climb_flops(const SizeProblem& problem, double enough);

}  // namespace kw
