#include "executor/compare/scales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#ifdef KW_WITH_CUDA
#include "executor/compare/cuda_scales.h"
#endif

namespace kw::exec {
namespace {

// Returns scores of magnitude 1, of which one in five is masked.
at::Tensor scores(double mask) {
  at::manual_seed(2);
  const at::Tensor masked = at::rand({64, 200}).lt(0.2);
  return at::randn({64, 200}, at::kDouble).masked_fill(masked, mask);
}

TEST(Scales, AreTwoWhereMaskedScoresAreHuge) {
  const double gap = scale_gap(scores(-1e9), at::kFloat);
  EXPECT_GT(gap, 10);
  EXPECT_LT(gap, 1e9);
  EXPECT_GT(scale_gap(scores(-6e4), at::kHalf), 0);
  EXPECT_EQ(scale_gap(scores(-6e4), at::kFloat), 0) << "seen beside them in float32";
  EXPECT_EQ(scale_gap(scores(-std::numeric_limits<double>::infinity()), at::kFloat), 0);
  EXPECT_EQ(scale_gap(scores(0), at::kFloat), 0);
}

TEST(Scales, AreOneWhereEveryMagnitudeOccurs) {
  at::manual_seed(3);
  EXPECT_EQ(scale_gap(at::randn({100000}, at::kDouble), at::kBFloat16), 0);
  EXPECT_EQ(scale_gap((at::randn({100000}, at::kDouble) * 30).exp(), at::kFloat), 0);
  at::Tensor outlier = at::randn({1000}, at::kDouble);
  outlier[7] = 1e12;
  EXPECT_EQ(scale_gap(outlier, at::kFloat), 0);
  EXPECT_EQ(scale_gap(at::zeros({1000}, at::kDouble), at::kFloat), 0);
}

TEST(Scales, TheSmallOnesAreMeasuredByThemselves) {
  const at::Tensor oracle = scores(-1e9), reference = oracle.to(at::kFloat);
  const double gap = scale_gap(oracle, at::kFloat);
  EXPECT_LE(error_below(gap, reference * (1 + 3e-7), reference, oracle).excess, 1);
  const at::Tensor zeros = at::where(reference.lt(-1e8), reference, at::zeros({}));
  const SectionError found = error_below(gap, zeros, reference, oracle);
  EXPECT_GT(found.excess, 1);
  EXPECT_NEAR(found.candidate, 1, 1e-6);
  EXPECT_EQ(found.dim, -1);
}

#ifdef KW_WITH_CUDA
// On a GPU one kernel counts what operators count on the CPU.
TEST(Scales, AreTheSameOnAGpu) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  at::manual_seed(4);
  const at::Tensor wide = at::randn({1000, 301}, at::kDouble);
  const double infinity = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(count_exponents_on_cuda(wide.cuda(), 1100, 2200)) << "else operators count";
  int gaps = 0;
  for (double size : {1e-320, 1e-310, 1e-300, 1e-30, 1e-7, 1e-3, 1.0, 1e12, 1e305}) {
    for (double other : {0.0, infinity, std::nan(""), 1e-315}) {
      at::Tensor numbers = wide.clone();
      numbers.slice(1, 0, 100).mul_(size);
      numbers.slice(1, 100, 110).fill_(other);
      const at::Tensor kept = numbers.masked_select(numbers.isfinite().logical_and(numbers.ne(0)));
      const at::Tensor counts =
          at::bincount(std::get<1>(at::frexp(kept)).to(at::kLong) + 1100, {}, 2200);
      const auto* expected = counts.const_data_ptr<int64_t>();
      EXPECT_EQ(*count_exponents_on_cuda(numbers.cuda(), 1100, 2200),
                std::vector<int64_t>(expected, expected + 2200));
      for (at::ScalarType dtype : {at::kFloat, at::kHalf, at::kDouble}) {
        const double gap = scale_gap(numbers, dtype);
        gaps += gap > 0;
        EXPECT_EQ(scale_gap(numbers.cuda(), dtype), gap) << size << ", " << other;
        EXPECT_EQ(scale_gap(numbers.cuda().t(), dtype), gap) << size << ", " << other;
      }
    }
  }
  EXPECT_GT(gaps, 40);
  EXPECT_LT(gaps, 9 * 4 * 3);
}
#endif

// A softmax whose mask is so large that masked elements are less than the least normal number.
TEST(Scales, WhatIsFlushedIsNoError) {
  for (double size : {1e-42, 1e-30}) {
    at::Tensor oracle = at::randn({64, 64}, at::kDouble).abs().add(0.1).mul(1e-2);
    oracle.slice(1, 0, 32).mul_(size);
    const at::Tensor reference = oracle.to(at::kFloat);
    const double gap = scale_gap(oracle, at::kFloat);
    ASSERT_GT(gap, 0);
    at::Tensor flushed = reference.clone();
    flushed.slice(1, 0, 32).zero_();
    EXPECT_EQ(error_below(gap, flushed, reference, oracle).excess > 1, size > 1e-38) << size;
  }
}

}  // namespace
}  // namespace kw::exec
