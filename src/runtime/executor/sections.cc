#include "runtime/executor/sections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/executor/guards.h"

namespace kw {
namespace {

constexpr int64_t kPart = int64_t{1} << 22;  // elements in float64 at a time
constexpr double kFewest = 16;               // elements of a cross-section that says something

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

// Sums over each cross-section along each dimension of candidate's and reference's squared errors,
// the oracle's squares, and the elements that count.
class Sums {
 public:
  explicit Sums(at::IntArrayRef sizes) {
    for (int64_t size : sizes) by_dim_.push_back(at::zeros({4, size}, at::kDouble));
  }
  // `begin`: where the part starts in dimension 0.
  void add(const at::Tensor& c, const at::Tensor& r, const at::Tensor& o, int64_t begin) {
    const at::Tensor ok = o.isfinite().logical_and(r.isfinite()).logical_and(c.isfinite());
    const at::Tensor zero = at::zeros({}, o.options());
    const std::vector<at::Tensor> squares = {at::where(ok, (c - o).square(), zero),
                                             at::where(ok, (r - o).square(), zero),
                                             at::where(ok, o.square(), zero), ok.to(at::kDouble)};
    for (int64_t dim = 0; dim < o.dim(); ++dim) {
      std::vector<int64_t> others;
      for (int64_t d = 0; d < o.dim(); ++d) {
        if (d != dim) others.push_back(d);
      }
      for (int64_t row = 0; row < 4; ++row) {
        const at::Tensor sums = others.empty() ? squares[row] : squares[row].sum(others);
        at::Tensor all = by_dim_[dim].select(0, row);
        (dim == 0 ? all.narrow(0, begin, sums.size(0)) : all).add_(sums.cpu());
      }
    }
  }
  const std::vector<at::Tensor>& by_dim() const { return by_dim_; }

 private:
  std::vector<at::Tensor> by_dim_;
};

void find_worst(const at::Tensor& sums, int64_t dim, at::ScalarType dtype, SectionError& worst) {
  const double floor = std::sqrt(dtype_eps(dtype_of(dtype)));
  const auto rows = sums.accessor<double, 2>();
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

SectionError worst_section(const at::Tensor& candidate, const at::Tensor& reference,
                           const at::Tensor& oracle) {
  SectionError worst;
  if (candidate.dim() < 2 || candidate.numel() == 0) return worst;
  const int64_t rows = candidate.size(0), row = candidate.numel() / rows;
  const int64_t step = std::max<int64_t>(1, kPart / std::max<int64_t>(1, row));
  Sums sums(candidate.sizes());
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t length = std::min(step, rows - begin);
    auto part = [&](const at::Tensor& tensor) {
      return tensor.narrow(0, begin, length).to(candidate.device()).to(at::kDouble);
    };
    sums.add(part(candidate), part(reference), part(oracle), begin);
  }
  for (int64_t dim = 0; dim < candidate.dim(); ++dim) {
    find_worst(sums.by_dim()[dim], dim, candidate.scalar_type(), worst);
  }
  return worst;
}

}  // namespace kw
