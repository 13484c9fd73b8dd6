// Several candidates for one reference: a quick look at each, then one run that times all of them.
#pragma once

#include <vector>

#include "verify/verifier.h"

namespace kw {

// Returns options for one plain trial and nothing else: it says whether a candidate is worth
// timing, not whether it is right.
VerifyOptions screening(VerifyOptions options);

// Times the reference, `candidates` and, if options.compiled_package names one, the package, in
// interleaved rounds. The report has them in this order. Serves to choose among candidates; takes
// 20 rounds, or fewer if they would take more than some seconds.
TimeReport time_side_by_side(Executor& executor, const Reference& reference,
                             const std::vector<const Task*>& candidates,
                             const VerifyOptions& options);

}  // namespace kw
