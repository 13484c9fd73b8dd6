#include "synth/sizes/powers.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "synth/sizes/sizes.h"

namespace kw {
namespace {

constexpr int kSizes = static_cast<int>(Sizes::kMost);
static_assert((kSizes & (kSizes - 1)) == 0);  // or remainders of random bits would not be uniform

}  // namespace

PowerTable::PowerTable(int low, int eighths)
    : rising_(eighths < 0), columns_(kSizes), powers_(kSizes + 1), sums_(kSizes + 2) {
  for (int x = 1; x <= kSizes; ++x) {
    const double root = std::sqrt(std::sqrt(std::sqrt(static_cast<double>(x))));
    double value = 1;
    for (int i = 0; i < std::abs(eighths); ++i) value *= root;
    powers_[x] = eighths < 0 ? 1 / value : value;
  }
  const auto weight = [&](int x) { return x < low ? 0 : 1 / powers_[x]; };
  for (int x = 1; x <= kSizes && rising_; ++x) sums_[x] = sums_[x - 1] + weight(x);
  for (int x = kSizes; x >= 1 && !rising_; --x) sums_[x] = sums_[x + 1] + weight(x);
  const double total = rising_ ? sums_[kSizes] : sums_[1];
  std::vector<double> share(kSizes);  // of a column
  std::vector<int> light, heavy;
  for (int i = 0; i < kSizes; ++i) {
    share[i] = kSizes * weight(i + 1) / total;
    columns_[i].size = columns_[i].other = static_cast<uint16_t>(i + 1);
    (share[i] < 1 ? light : heavy).push_back(i);
  }
  while (!light.empty() && !heavy.empty()) {
    const int a = light.back(), b = heavy.back();
    light.pop_back();
    columns_[a].keep = static_cast<float>(share[a]);
    columns_[a].other = static_cast<uint16_t>(b + 1);
    share[b] -= 1 - share[a];
    if (share[b] < 1) {
      heavy.pop_back();
      light.push_back(b);
    }
  }
}

int64_t PowerTable::search(int64_t low, int64_t high, Random& random) const {
  // The first size up to which, or from which on, the sum is large enough.
  if (rising_) {
    const double at = sums_[low - 1] + random.uniform() * total(low, high);
    const auto found = std::upper_bound(sums_.begin() + low, sums_.begin() + high, at);
    return found - sums_.begin();
  }
  const double at = sums_[high + 1] + random.uniform() * total(low, high);
  const auto found = std::upper_bound(sums_.rend() - high - 1, sums_.rend() - low - 1, at);
  return sums_.rend() - found - 1;
}

const PowerTable& PowerTable::of(int low, int eighths) {
  static std::once_flag made[2][kMost - kLeast + 1];
  static std::unique_ptr<const PowerTable> tables[2][kMost - kLeast + 1];
  const int which = low > 1, at = eighths - kLeast;
  std::call_once(made[which][at],
                 [&] { tables[which][at] = std::make_unique<PowerTable>(which + 1, eighths); });
  return *tables[which][at];
}

double portable_log2(double x) {
  int exponent = 0;
  const double m = std::frexp(x, &exponent);  // in [1/2, 1)
  const double t = (m - 0.75) / (m + 0.75);   // ln(m / 0.75) = 2 artanh(t), |t| <= 1/5
  double sum = 0, term = t;
  for (int k = 1; k < 19; k += 2, term *= t * t) sum += term / k;
  constexpr double kLog2Of075 = -0.41503749927884381855;
  constexpr double kTwoOverLn2 = 2.8853900817779268147;
  return exponent + kLog2Of075 + kTwoOverLn2 * sum;
}

double portable_exp2(double x) {
  const double whole = std::floor(x);
  const double y = (x - whole) * 0.69314718055994530942;
  double sum = 1, term = 1;
  for (int k = 1; k < 18; ++k) sum += term *= y / k;
  return std::ldexp(sum, static_cast<int>(whole));
}

}  // namespace kw
