#include "verify/verdict/statistics.h"

#include <algorithm>
#include <cassert>
#include <random>

#include "runtime/protocol.h"

namespace kw {

namespace {

Interval allowing_for_runs(Interval within) {
  return {within.estimate, within.lower / (1 + kBetweenRuns), within.upper * (1 + kBetweenRuns)};
}

Interval few_ratios(const std::vector<double>& ratios) {
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  const double stretch = few_stretch(ratios.size()) * (*most - *least);
  return allowing_for_runs({median(ratios), std::max(0.0, *least - stretch), *most + stretch});
}

}  // namespace

Interval median_ratio(const std::vector<double>& baseline, const std::vector<double>& candidate,
                      double confidence, uint64_t seed) {
  assert(!baseline.empty() && baseline.size() == candidate.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < baseline.size(); ++i) ratios.push_back(baseline[i] / candidate[i]);
  if (ratios.size() < kFewRounds) return few_ratios(ratios);
  constexpr int kResamples = 1000;
  std::mt19937_64 rng(seed);
  std::uniform_int_distribution<size_t> pick(0, ratios.size() - 1);
  std::vector<double> medians, sample(ratios.size());
  for (int r = 0; r < kResamples; ++r) {
    for (double& x : sample) x = ratios[pick(rng)];
    medians.push_back(median(sample));
  }
  std::sort(medians.begin(), medians.end());
  const double tail = 0.5 * (1.0 - confidence);
  const double lower = medians[static_cast<size_t>(tail * kResamples)];
  const double upper = medians[static_cast<size_t>((1.0 - tail) * kResamples) - 1];
  return allowing_for_runs({median(ratios), lower, upper});
}

}  // namespace kw
