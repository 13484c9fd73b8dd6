// Statistics of paired timings.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/median.h"
#include "verify/verdict/verdict.h"

namespace kw {

// Median of baseline[i] / candidate[i] over paired rounds with a percentile bootstrap interval
// (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13) at `confidence`; 1000
// resamples under `seed` (of few rounds: the range and few_stretch() of it), and kBetweenRuns to
// either side: rounds of one process share what those of another do not. Samples must be non-empty,
// positive and of equal length.
Interval median_ratio(const std::vector<double>& baseline, const std::vector<double>& candidate,
                      double confidence = 0.95, uint64_t seed = 1);

}  // namespace kw
