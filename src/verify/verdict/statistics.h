// Statistics of paired timings.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/median.h"
#include "verify/verdict/verdict.h"

namespace kw {

// Returns the median of baseline[i] / candidate[i] over paired rounds with an interval at
// `confidence`. It is a percentile bootstrap interval (Efron and Tibshirani, An Introduction to the
// Bootstrap, chapter 13) of 1000 resamples under `seed`. Few rounds have their range and
// few_stretch() of it instead. kBetweenRuns is added to either side, because rounds of one process
// share what rounds of another do not. Samples must be non-empty, positive and of equal length.
Interval median_ratio(const std::vector<double>& baseline, const std::vector<double>& candidate,
                      double confidence = 0.95, uint64_t seed = 1);

}  // namespace kw
