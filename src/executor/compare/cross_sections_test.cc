#include "executor/compare/cross_sections.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/compare/compare.h"

namespace kw::exec {
namespace {

SectionError worst(const at::Tensor& candidate, const at::Tensor& reference,
                   const at::Tensor& oracle) {
  const Comparison sums = compare(candidate, reference, oracle, candidate.device(), true);
  return worst_section(sums.sections, candidate);
}
// The columns' scales cover twelve orders of magnitude, in fp32 with fp32's own rounding.
struct Sides {
  at::Tensor oracle, reference;
};
Sides uneven(at::IntArrayRef sizes) {
  at::manual_seed(3);
  const at::Tensor scale = at::logspace(-8, 4, sizes.back(), 10.0, at::kDouble);
  const at::Tensor oracle = at::randn(sizes, at::kDouble) * scale;
  return {oracle, oracle.to(at::kFloat)};
}

TEST(Sections, HonestRoundingPasses) {
  for (const auto& sizes : {std::vector<int64_t>{37, 100}, {16, 3, 50}, {5, 4, 7, 20}}) {
    const Sides sides = uneven(sizes);
    const at::Tensor other = (sides.oracle * (1 + 3e-7 * at::randn(sizes, at::kDouble)))
                                 .to(at::kFloat);  // five times the reference's error
    EXPECT_LE(worst(other, sides.reference, sides.oracle).excess, 1);
  }
}

TEST(Sections, AColumnLeftOutIsFoundHoweverSmallItIs) {
  for (int64_t column : {0, 49, 99}) {
    const Sides sides = uneven({37, 100});
    at::Tensor candidate = sides.reference.clone();
    candidate.select(1, column).zero_();
    const SectionError found = worst(candidate, sides.reference, sides.oracle);
    EXPECT_GT(found.excess, 1);
    EXPECT_EQ(found.dim, 1);
    EXPECT_EQ(found.index, column);
    EXPECT_NEAR(found.candidate, 1, 1e-6);
  }
}

TEST(Sections, CancelledValuesAreMeasuredAgainstTheReferencesOwnError) {
  at::manual_seed(4);
  const at::Tensor big = at::randn({64, 64}, at::kDouble);
  const at::Tensor small = 1e-6 * at::randn({64, 64}, at::kDouble);
  auto difference = [&](double nudge) {  // fp32: the small part drowns in the rounding of the big
    const at::Tensor a = (big * (1 + nudge)).to(at::kFloat);
    return (a + small.to(at::kFloat)) - (big * (1 + nudge)).to(at::kFloat);
  };
  EXPECT_LE(worst(difference(1e-3), difference(0), small).excess, 1);
}

// One column of few elements says little; several together are enough.
TEST(Sections, FewElementsAreTakenTogether) {
  const Sides sides = uneven({3, 100});
  at::Tensor candidate = sides.reference.clone();
  candidate.slice(1, 18, 24).zero_();
  const SectionError found = worst(candidate, sides.reference, sides.oracle);
  EXPECT_GT(found.excess, 1);
  EXPECT_EQ(found.dim, 1);
  EXPECT_EQ(found.index, 18);
  const Sides few = uneven({3, 3});
  EXPECT_EQ(worst(at::zeros({3, 3}), few.reference, few.oracle).excess, 0);
}

TEST(Sections, TheLastOnesAreNotForgotten) {
  at::manual_seed(5);
  for (const auto& sizes : {std::vector<int64_t>{8, 513}, {4104}}) {
    const at::Tensor oracle = at::randn(sizes, at::kDouble);
    oracle.slice(-1, -1 * (sizes.size() == 1 ? 8 : 1)).mul_(1e-6);
    const at::Tensor reference = oracle.to(at::kFloat);
    at::Tensor candidate = reference.clone();
    candidate.slice(-1, -1 * (sizes.size() == 1 ? 8 : 1)).zero_();
    EXPECT_GT(worst(candidate, reference, oracle).excess, 1) << sizes.size();
    EXPECT_LE(worst(reference * (1 + 1e-7), reference, oracle).excess, 1);
  }
}

TEST(Sections, AVectorIsComparedInStretches) {
  for (int64_t size : {1000, 40000, 4096 * 16 + 3, 4096 * 16 * 3}) {
    const int64_t step = vector_step(size);
    const at::Tensor oracle = at::randn({size}, at::kDouble);
    oracle.slice(0, 5 * step, 6 * step).mul_(1e-9);
    at::Tensor candidate = oracle.to(at::kFloat);
    EXPECT_LE(worst(candidate * (1 + 2e-7), candidate, oracle).excess, 1) << size;
    const at::Tensor reference = candidate.clone();
    candidate.slice(0, 5 * step, 6 * step).zero_();
    const SectionError found = worst(candidate, reference, oracle);
    EXPECT_GT(found.excess, 1) << size;
    EXPECT_EQ(found.index, 5 * step);
  }
}

TEST(Sections, TinyValuesSayNothing) {
  const at::Tensor tiny = at::full({32, 32}, 1e-42, at::kDouble);
  EXPECT_EQ(worst(at::zeros({32, 32}), tiny.to(at::kFloat), tiny).excess, 0);
}

// Part of a column is less than the least normal number, which a device may flush.
TEST(Sections, WhatIsFlushedIsNoError) {
  const double least = std::numeric_limits<float>::min();
  at::Tensor oracle = at::full({32, 32}, 4 * least, at::kDouble);
  oracle.slice(0, 0, 16).fill_(0.9 * least);
  const at::Tensor reference = oracle.to(at::kFloat);
  const at::Tensor flushed = at::where(reference.abs().lt(least), at::zeros({}), reference);
  EXPECT_LE(worst(flushed, reference, oracle).excess, 1);
  EXPECT_GT(worst(at::where(reference.lt(1e-36), at::zeros({}), reference * 100), reference * 100,
                  oracle * 100)
                .excess,
            1);
}

TEST(Sections, NotANumberAndInfinityAreLeftToOthers) {
  const Sides sides = uneven({32, 32});
  at::Tensor candidate = sides.reference.clone();
  candidate.select(0, 3).fill_(std::nan(""));
  EXPECT_LE(worst(candidate, sides.reference, sides.oracle).excess, 1);
  EXPECT_EQ(worst(at::zeros({0, 4}), at::zeros({0, 4}), at::zeros({0, 4})).excess, 0);
}

}  // namespace
}  // namespace kw::exec
