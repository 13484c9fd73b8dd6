#include "runtime/executor/sections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/executor/guards.h"

namespace kw {
namespace {

constexpr double kFewest = 16;  // elements of a cross-section that says something

double smallest_normal(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return std::numeric_limits<double>::min();
    case at::kHalf:
      return 6.2e-5;
    default:  // bfloat16 has float's range
      return std::numeric_limits<float>::min();
  }
}

void find_worst(const at::Tensor& sums, int64_t dim, at::ScalarType dtype, SectionError& worst) {
  const double floor = std::sqrt(dtype_eps(dtype_of(dtype)));
  const at::Tensor plain = sums.contiguous();
  const auto rows = plain.accessor<double, 2>();
  for (int64_t i = 0; i < sums.size(1); ++i) {
    const double candidate = rows[0][i], reference = rows[1][i], oracle = rows[2][i];
    const double count = rows[3][i];
    if (count < kFewest || std::sqrt(oracle / count) < smallest_normal(dtype)) continue;
    const double error = std::sqrt(candidate / oracle);
    const double allowed = std::max(kSectionFactor * std::sqrt(reference / oracle), floor);
    if (error / allowed > worst.excess) worst = {error / allowed, dim, i, error, allowed};
  }
}

}  // namespace

SectionError worst_section(const std::vector<at::Tensor>& sums, at::ScalarType dtype) {
  SectionError worst;
  for (size_t dim = 0; dim < sums.size(); ++dim) {
    find_worst(sums[dim], static_cast<int64_t>(dim), dtype, worst);
  }
  return worst;
}

}  // namespace kw
