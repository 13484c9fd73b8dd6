#include "executor/discrete/integers.h"

#include <algorithm>
#include <limits>

namespace kw::exec {
namespace {

constexpr int64_t kIntegerSlice = int64_t{1} << 22;

// Returns the largest integer that is judged. The dtype holds the integers next to it too. In
// float32 the limit is lower, so that a right sum in another order stays within a quarter even if
// it is not exact.
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

// Returns two bits of each number's magnitude, by multiplicative hashing (Knuth, The Art of
// Computer Programming 3, section 6.4).
at::Tensor two_bits(const at::Tensor& magnitudes, uint64_t seed) {
  const auto factor = static_cast<int32_t>((seed * 0x9e3779b97f4a7c15ull) >> 32 | 1);
  const at::Tensor key = magnitudes.to(at::kFloat).view(at::kInt);
  return key.mul(factor).bitwise_right_shift_(30).bitwise_and_(3);
}

// Returns the four equally likely numbers that are drawn from. With those for half types, a sum of
// a thousand products has a root mean square of 16.
at::Tensor drawn_from(const at::TensorOptions& options, bool half) {
  const at::Tensor numbers = half ? at::tensor({-1.f, 0.f, 0.f, 1.f}, at::kFloat)
                                  : at::tensor({-2.f, -1.f, 1.f, 2.f}, at::kFloat);
  return numbers.to(options);
}

// Makes as few passes as possible, because an input may be large.
void make_part_integers(at::Tensor values, const at::Tensor& numbers, uint64_t seed) {
  const at::Tensor magnitudes = values.abs();
  const at::Tensor result = numbers.index_select(0, two_bits(magnitudes, seed)).mul_(values.sign());
  const at::Tensor fraction = values.ne(values.round()).logical_or_(magnitudes.gt(2));
  const at::Tensor finite = magnitudes.lt(std::numeric_limits<double>::infinity());
  at::where_out(values, fraction.logical_and_(finite), result, values);
}

}  // namespace

void make_integers(at::Tensor& flat, uint64_t seed) {
  const at::Tensor numbers = drawn_from(flat.options(), flat.element_size() == 2);
  for (int64_t begin = 0; begin < flat.numel(); begin += kIntegerSlice) {
    make_part_integers(flat.slice(0, begin, std::min(flat.numel(), begin + kIntegerSlice)), numbers,
                       seed);
  }
}

IntegerAnswers integer_answers(const at::Tensor& got, const at::Tensor& oracle) {
  IntegerAnswers out;
  const double largest = largest_of(got.scalar_type());
  const at::Tensor g = got.reshape({-1}), o = oracle.reshape({-1});
  for (int64_t begin = 0; begin < g.numel(); begin += kIntegerSlice) {
    const int64_t end = std::min(g.numel(), begin + kIntegerSlice);
    const at::Tensor answer = g.slice(0, begin, end).to(at::kDouble);
    const at::Tensor exact = o.slice(0, begin, end).to(got.device()).to(at::kDouble);
    const at::Tensor judged = exact.abs().le(largest);
    // The comparison is negated so that NaN is wrong.
    const at::Tensor wrong = judged.logical_and((answer - exact).abs().lt(0.25).logical_not());
    const at::Tensor counts =
        at::stack({exact.ne(exact.round()).sum(), judged.sum(), wrong.sum()}).cpu();
    const int64_t* count = counts.const_data_ptr<int64_t>();
    out.whole = out.whole && count[0] == 0;
    out.judged += count[1];
    out.wrong += count[2];
  }
  return out;
}

}  // namespace kw::exec
