// For tests: sums as tensor cores add them up.
#pragma once

#include <cmath>
#include <cstdint>

namespace kw::exec {

// Returns the sum of `count` products, a multiple of eight. It adds eight at a time exactly, and
// cuts off what float32 does not hold.
inline float cut_off_sum(const float* x, const float* y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i += 8) {
    for (int64_t k = i; k < i + 8; ++k) sum += static_cast<double>(x[k]) * y[k];
    auto kept = static_cast<float>(sum);
    if (std::abs(kept) > std::abs(sum)) kept = std::nextafter(kept, 0.0f);
    sum = kept;
  }
  return static_cast<float>(sum);
}

}  // namespace kw::exec
