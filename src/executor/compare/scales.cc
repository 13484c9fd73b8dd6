#include "executor/compare/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "executor/aten/guarded_memory.h"
#include "executor/compare/compare.h"
#ifdef KW_WITH_CUDA
#include "executor/compare/cuda_scales.h"
#endif

namespace kw::exec {
namespace {

constexpr int64_t kFewestOnASide = 16;  // elements on either side
// One in this many elements must be on either side, too. Of numbers around zero, one in 300 is
// below a thousandth of the largest, where half types look for gaps.
constexpr int64_t kOneIn = 1024, kOneInOfHalves = 64;
constexpr int kBinades = 2200;  // of float64
constexpr int kZeroExponent = 1100;

using Histogram = std::vector<int64_t>;  // by exponent, from -kZeroExponent on

template <class Visit>
void for_parts(const at::Tensor& tensor, const Visit& visit) {
  constexpr int64_t kPart = int64_t{1} << 22;
  const at::Tensor flat = tensor.reshape({-1});
  for (int64_t begin = 0; begin < flat.numel(); begin += kPart) {
    visit(flat.slice(0, begin, std::min(flat.numel(), begin + kPart)));
  }
}

Histogram exponents_in_parts(const at::Tensor& oracle) {
  Histogram out(kBinades);
  for_parts(oracle, [&](const at::Tensor& part) {
    const at::Tensor kept = part.masked_select(part.isfinite().logical_and(part.ne(0)));
    if (kept.numel() == 0) return;
    const at::Tensor exponent = std::get<1>(at::frexp(kept)).to(at::kLong) + kZeroExponent;
    const at::Tensor counts = at::bincount(exponent, {}, kBinades).cpu();
    for (int i = 0; i < kBinades; ++i) out[i] += counts.const_data_ptr<int64_t>()[i];
  });
  return out;
}

// Returns whether at least `enough` numbers are `binades` binades below the largest. Usually none
// are so small.
bool has_small(const at::Tensor& oracle, int binades, int64_t enough) {
  const at::Tensor size = oracle.abs();
  const at::Tensor largest = size.masked_fill(size.isfinite().logical_not(), 0).max();
  const at::Tensor small = size.lt(largest * std::exp2(-binades)).logical_and(size.gt(0));
  return small.sum().item<int64_t>() >= enough;
}

// Returns the histogram of exponents, or an empty one if there can be no gap.
Histogram exponents(const at::Tensor& oracle, int binades, int64_t enough) {
#ifdef KW_WITH_CUDA
  if (oracle.is_cuda()) {
    if (auto counts = count_exponents_on_cuda(oracle, kZeroExponent, kBinades)) return *counts;
  }
#endif
  return has_small(oracle, binades, enough) ? exponents_in_parts(oracle) : Histogram();
}

}  // namespace

double scale_gap(const at::Tensor& oracle, at::ScalarType dtype) {
  constexpr int kFewestBinades = 10;
  const int digits = static_cast<int>(-std::log2(dtype_eps(dtype_of(dtype))));
  const int64_t one_in = digits > kFewestBinades ? kOneIn : kOneInOfHalves;
  const int64_t enough = std::max(kFewestOnASide, oracle.numel() / one_in);
  if (oracle.numel() < 2 * kFewestOnASide) return 0;
  const int binades = std::max(kFewestBinades, digits);
  const Histogram count = exponents(oracle, binades, enough);
  int64_t all = 0;
  for (int64_t n : count) all += n;
  int64_t below = 0;
  int last = -1, widest = binades;
  double gap = 0;
  for (int i = 0; i < static_cast<int>(count.size()); ++i) {
    if (count[i] == 0) continue;
    if (last >= 0 && i - last > widest && below >= enough && all - below >= enough) {
      widest = i - last;
      gap = std::exp2((i + last) / 2 - kZeroExponent);
    }
    last = i;
    below += count[i];
  }
  return gap;
}

SectionError error_below(double gap, const at::Tensor& candidate, const at::Tensor& reference,
                         const at::Tensor& oracle) {
  const at::Tensor small =
      oracle.to(at::kDouble)
          .masked_fill(oracle.abs().ge(gap), std::numeric_limits<double>::quiet_NaN());
  const at::Device device = candidate.device();
  const Comparison own = compare(reference, reference, small, device, false);
  const Comparison theirs = compare(candidate, reference, small, device, false);
  SectionError out;
  if (own.oracle_sum == 0) return out;
  out.candidate = std::sqrt(theirs.error_sum / theirs.oracle_sum);
  const DType dtype = dtype_of(candidate.scalar_type());
  const double count = small.isfinite().sum().item<double>();
  out.allowed = std::max(kSectionFactor * std::sqrt(own.error_sum / own.oracle_sum),
                         std::sqrt(dtype_eps(dtype))) +
                flushed_below(dtype) / std::sqrt(own.oracle_sum / count);
  out.excess = out.candidate / out.allowed;
  return out;
}

}  // namespace kw::exec
