// Intervals for what was seen on some tasks and is claimed of all such tasks. They are for shares,
// means and other statistics, and for the difference between two policies. Resampling draws tasks,
// not answers, because answers to one task depend on each other. Pure functions: any thread.
// Numbers are the same on any machine but for the last digit of exp and log.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "verify/verdict/verdict.h"

namespace kw {

// Returns the share `hits` / `count`, 0 <= hits <= count, count >= 1, with Wilson's score interval
// ("Probable inference, the law of succession, and statistical inference", 1927). The interval has
// all shares that a two-sided test by the normal approximation does not reject. It is never empty:
// 20 of 20 reads [0.84, 1] at 0.95.
Interval wilson(double hits, double count, double confidence = 0.95);

// The x under which a standard normal variable lies with this probability, 0 < probability < 1.
double normal_quantile(double probability);

struct BootstrapOptions {
  double confidence = 0.95;
  int resamples = 2000;
  uint64_t seed = 1;
};

// Of a non-empty sample.
using Statistic = std::function<double(const std::vector<double>&)>;
double mean(const std::vector<double>& values);
double geometric_mean(const std::vector<double>& values);  // of values above 0

// Returns the statistic of the values with the percentile interval of the bootstrap (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). Needs at least one value. If all
// values are the same, the interval has no width. For few values it is too narrow.
Interval bootstrap(const std::vector<double>& values, const Statistic& statistic,
                   const BootstrapOptions& options = {});

// Returns mean(ours) - mean(theirs). Values are from 0 to 1 and belong to the same tasks in the
// same order, so that tasks that are hard for both do not widen the interval. At least one value.
// The interval is Agresti and Min's for matched proportions ("Simple improved confidence intervals
// for comparing matched proportions", Stat. Med. 24, 2005): Wald's interval of the differences, to
// which half a 1, half a -1 and a 0 are added. So it has a width even if all differences are the
// same.
Interval paired_difference(const std::vector<double>& ours, const std::vector<double>& theirs,
                           double confidence = 0.95);
// Returns geometric_mean(ours) / geometric_mean(theirs), of values above 0.
Interval paired_ratio(const std::vector<double>& ours, const std::vector<double>& theirs,
                      const BootstrapOptions& options = {});

}  // namespace kw
