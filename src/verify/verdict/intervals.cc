#include "verify/verdict/intervals.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>

namespace kw {

double normal_quantile(double probability) {
  assert(probability > 0 && probability < 1);
  // By halves: erfc is exact to the last digits, and this is called once a report.
  double low = -40, high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

Interval wilson(double hits, double count, double confidence) {
  assert(count >= 1 && hits >= 0 && hits <= count);
  const double z = normal_quantile(0.5 + 0.5 * confidence);
  const double share = hits / count, part = z * z / count;
  const double centre = (share + 0.5 * part) / (1 + part);
  const double half = std::sqrt(part * (share * (1 - share) + 0.25 * part)) / (1 + part);
  // Rounding must not leave what the share itself is outside.
  return {share, std::clamp(centre - half, 0.0, share), std::clamp(centre + half, share, 1.0)};
}

double mean(const std::vector<double>& values) {
  assert(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double geometric_mean(const std::vector<double>& values) {
  assert(!values.empty());
  double sum = 0;
  for (const double value : values) {
    assert(value > 0);
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

Interval bootstrap(const std::vector<double>& values, const Statistic& statistic,
                   const BootstrapOptions& options) {
  assert(!values.empty() && options.resamples >= 100);
  std::mt19937_64 random(options.seed);
  std::vector<double> drawn(values.size()), found;
  for (int i = 0; i < options.resamples; ++i) {
    // The standard's distributions differ from library to library, and a remainder of 64 bits does
    // not. Its bias is too small to be seen.
    for (double& value : drawn) value = values[random() % values.size()];
    found.push_back(statistic(drawn));
  }
  std::sort(found.begin(), found.end());
  const auto outside =
      static_cast<size_t>(0.5 * (1 - options.confidence) * static_cast<double>(found.size()));
  return {statistic(values), found[outside], found[found.size() - 1 - outside]};
}

Interval paired_difference(const std::vector<double>& ours, const std::vector<double>& theirs,
                           double confidence) {
  assert(!ours.empty() && ours.size() == theirs.size());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const double difference = ours[i] - theirs[i];
    assert(std::abs(difference) <= 1);
    sum += difference;
    squares += difference * difference;
  }
  const double n = static_cast<double>(ours.size()), value = sum / n;
  const double centre = sum / (n + 2), variance = (squares + 1) / (n + 2) - centre * centre;
  const double half =
      normal_quantile(0.5 + 0.5 * confidence) * std::sqrt(std::max(0.0, variance) / (n + 2));
  return {value, std::clamp(centre - half, -1.0, value), std::clamp(centre + half, value, 1.0)};
}

Interval paired_ratio(const std::vector<double>& ours, const std::vector<double>& theirs,
                      const BootstrapOptions& options) {
  assert(ours.size() == theirs.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  return bootstrap(ratios, geometric_mean, options);
}

}  // namespace kw
