#include "synth/sizes/sizes.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

// x = floor((x + add) / 2).
SizeId fixed_point(Sizes& sizes, int64_t add) {
  const SizeId x = sizes.variable();
  sizes.equal(x, sizes.affine(x, add, 2, 1, 0));
  return x;
}

TEST(Sizes, WhatEqualsAnExpressionOfItselfHasFewValues) {
  Sizes sizes;
  const SizeId x = fixed_point(sizes, 5);  // 4 = floor(9 / 2), 5 = floor(10 / 2)
  EXPECT_EQ(sizes.solved(), Solved::kYes);
  EXPECT_EQ(sizes.variable_of(sizes.resolve(x)).values, (std::vector<int64_t>{4, 5}));
  Sizes none;
  fixed_point(none, 0);  // 0 and -1 alone
  EXPECT_EQ(none.solved(), Solved::kContradiction);
}

TEST(Sizes, NoneOfItsFewValuesIsAContradiction) {
  Sizes sizes;
  const SizeId x = fixed_point(sizes, 5);
  sizes.at_least(x, 5);
  EXPECT_EQ(sizes.solved(), Solved::kYes);
  sizes.at_least(x, 6);
  EXPECT_EQ(sizes.solved(), Solved::kContradiction);
}

}  // namespace
}  // namespace kw
