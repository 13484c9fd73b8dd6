#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

namespace kw {

// The middle of a non-empty sample; of an even number of values, the mean of the two in the middle.
inline double median(std::vector<double> values) {
  assert(!values.empty());
  const auto half = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2) return *half;
  return 0.5 * (*half + *std::max_element(values.begin(), half));
}

}  // namespace kw
