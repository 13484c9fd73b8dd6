// Measures PyTorch's time for each step of a program, alone.
#pragma once

#include <map>

#include "runtime/executor.h"
#include "search/evaluate/evaluator.h"
#include "verify/verifier.h"

namespace kw {

// Returns device seconds by forward step, measured for about `seconds` on the values that flow
// there in the program. Steps whose values fit on the device together are timed in one interleaved
// run. A step that cannot be timed alone, or not in time, is missing.
std::map<int, double> time_steps(Executor& executor, const Task& program,
                                 const VerifyOptions& options, double seconds,
                                 const SearchLimit& limit);

}  // namespace kw
