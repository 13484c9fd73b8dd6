// PyTorch's own times for the steps of a program, each alone.
#pragma once

#include <map>

#include "runtime/executor_client.h"
#include "search/evaluate/evaluator.h"
#include "verify/verifier.h"

namespace kw {

// Device seconds by forward step, on values that really flow there, for about `seconds`. Steps
// whose values fit on the device together are timed in one interleaved run. What cannot be timed
// alone, or not in time, is missing.
std::map<int, double> time_steps(ExecutorClient& executor, const Task& program,
                                 const VerifyOptions& options, double seconds,
                                 const SearchLimit& limit);

}  // namespace kw
