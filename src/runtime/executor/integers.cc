#include "runtime/executor/integers.h"

#include <algorithm>

namespace kw {
namespace {

constexpr int64_t kSlice = int64_t{1} << 22;

// Integers up to here have neighbours that the dtype holds too; of float32 less is used, so
// that a right sum in another order stays within a quarter also where it is not exact.
double largest_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kBFloat16:
      return 0x1p8;
    case at::kHalf:
      return 0x1p11;
    case at::kFloat:
      return 0x1p18;
    default:
      return 0x1p40;
  }
}

// Two bits of each number's magnitude, by multiplicative hashing (Knuth, The Art of Computer
// Programming 3, section 6.4).
at::Tensor two_bits(const at::Tensor& magnitudes, uint64_t seed) {
  const int64_t factor = static_cast<int64_t>((seed * 0x9e3779b97f4a7c15ull) | 1);
  const at::Tensor key = magnitudes.to(at::kFloat).view(at::kInt).to(at::kLong);
  return key.mul(factor).bitwise_right_shift(61).bitwise_and(3);
}

at::Tensor integers_of(const at::Tensor& values, uint64_t seed) {
  const at::Tensor bits = two_bits(values.abs(), seed);
  const bool half = values.element_size() == 2;
  // In halves -1, 0, 0, 1: a sum of a thousand products is 16 in the root mean square.
  const at::Tensor drawn = half ? bits.eq(3).to(at::kLong).sub(bits.eq(0).to(at::kLong))
                                : bits.sub(2).add(bits.ge(2).to(at::kLong));
  const at::Tensor result = drawn.to(values.scalar_type()).mul(values.sign());
  const at::Tensor kept = values.eq(values.round()).logical_and(values.abs().le(2));
  return at::where(kept.logical_or(values.isfinite().logical_not()), values, result);
}

}  // namespace

void make_integers(at::Tensor& flat, uint64_t seed) {
  for (int64_t begin = 0; begin < flat.numel(); begin += kSlice) {
    at::Tensor part = flat.slice(0, begin, std::min(flat.numel(), begin + kSlice));
    part.copy_(integers_of(part, seed));
  }
}

IntegerAnswers integer_answers(const at::Tensor& got, const at::Tensor& oracle) {
  IntegerAnswers out;
  const double largest = largest_of(got.scalar_type());
  const at::Tensor g = got.reshape({-1}), o = oracle.reshape({-1});
  for (int64_t begin = 0; begin < g.numel(); begin += kSlice) {
    const int64_t end = std::min(g.numel(), begin + kSlice);
    const at::Tensor answer = g.slice(0, begin, end).to(at::kDouble);
    const at::Tensor exact = o.slice(0, begin, end).to(got.device()).to(at::kDouble);
    const at::Tensor judged = exact.abs().le(largest);
    // Written so that NaN is wrong.
    const at::Tensor wrong = judged.logical_and((answer - exact).abs().lt(0.25).logical_not());
    out.whole = out.whole && exact.eq(exact.round()).all().item<bool>();
    out.judged += judged.sum().item<int64_t>();
    out.wrong += wrong.sum().item<int64_t>();
  }
  return out;
}

}  // namespace kw
