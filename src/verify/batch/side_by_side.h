// Several candidates for one reference: a quick look at each, then one run that times all of them.
#pragma once

#include <vector>

#include "verify/verifier.h"

namespace kw {

// One plain trial and nothing else: whether a candidate is worth timing, not whether it is right.
VerifyOptions screening(VerifyOptions options);

// Times the reference, `candidates` and, where options.compiled_package names one, the package in
// interleaved rounds: in the report they stand in this order. For choosing among them; 20 rounds,
// fewer when they would take more than some seconds.
TimeReport time_side_by_side(ExecutorClient& executor, const Reference& reference,
                             const std::vector<const Task*>& candidates,
                             const VerifyOptions& options);

}  // namespace kw
