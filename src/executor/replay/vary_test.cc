#include "executor/replay/vary.h"

#include <gtest/gtest.h>

#include "executor/aten/aten.h"

namespace kw::exec {
namespace {

at::Tensor ones(at::IntArrayRef sizes) { return at::ones(sizes, at::kFloat); }

// Returns the share of `tensor` that is no longer 1.
double changed(const at::Tensor& tensor) {
  return tensor.ne(1).to(at::kDouble).mean().item<double>();
}

class VaryTest : public testing::TestWithParam<Variation> {};

TEST_P(VaryTest, ReachesViewsToo) {
  const at::Tensor packed = ones({64, 96});
  const std::vector<at::Tensor> parts = packed.chunk(3, 1);  // as of a packed q, k, v
  vary(parts, GetParam(), 1);
  for (const at::Tensor& part : parts) EXPECT_GT(changed(part), 0.2);
  const at::Tensor whole = ones({64, 96}), half = whole.slice(1, 0, 96, 2);
  vary({half}, GetParam(), 1);
  EXPECT_GT(changed(half), 0.2);
  EXPECT_EQ(changed(whole.slice(1, 1, 96, 2)), 0) << "what the view leaves out";
  const at::Tensor row = ones({96}), repeated = row.expand({64, 96});
  vary({repeated}, GetParam(), 1);
  EXPECT_GT(changed(repeated), 0.2);
  const at::Tensor base = ones({128}), windows = base.unfold(0, 16, 4);
  vary({windows}, GetParam(), 1);
  EXPECT_GT(changed(base), 0.2);
}

TEST_P(VaryTest, ChangesWhatTwoInputsShareOnce) {
  const at::Tensor once = at::arange(4096, at::kFloat).add(1).view({64, 64}), twice = once.clone();
  vary({once}, GetParam(), 1);
  vary({twice, twice.t(), twice.slice(0, 0, 8)}, GetParam(), 1);
  EXPECT_TRUE(once.equal(twice));
}

INSTANTIATE_TEST_SUITE_P(All, VaryTest, testing::Values(Variation::kUneven, Variation::kZeros));

TEST_P(VaryTest, ReachesBothPartsOfComplexNumbers) {
  const at::Tensor parts = ones({64, 96, 2});
  vary({at::view_as_complex(parts)}, GetParam(), 1);
  EXPECT_GT(changed(parts.select(2, 0)), 0.2);
  EXPECT_GT(changed(parts.select(2, 1)), 0.2);
}

TEST(Vary, ViewsOfOtherTypesAreLeftToTheFirst) {
  const at::Tensor x = ones({32, 32}), bits = x.view(at::kBFloat16);
  vary({x, bits}, Variation::kUneven, 1);
  EXPECT_GT(changed(x), 0.2);
  EXPECT_TRUE(x.isfinite().all().item<bool>());
}

TEST(Vary, TiesLeaveFewDifferentNumbers) {
  const at::Tensor x = at::randn({256, 64});
  const at::Tensor before = x.clone();
  vary({x}, Variation::kTies, 1);
  EXPECT_LT(x.sub(before).abs().max().item<float>(), 1);
  const at::Tensor largest = x.eq(x.amax(1, true)).sum(1);
  EXPECT_GT(largest.gt(1).sum().item<int64_t>(), 64) << "rows with several largest elements";
}

TEST(Vary, AStretchOfSmallRowsIsLeft) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const at::Tensor x = ones({8, 32});  // one row a stretch
    vary({x}, Variation::kUneven, seed);
    const at::Tensor rows = x.abs().amax(1);
    EXPECT_LT(rows.min().item<float>(), rows.max().item<float>() / 100) << seed;
  }
}

TEST(Vary, RowsBecomeOneNumberInViews) {
  const at::Tensor x = at::arange(64, at::kFloat).view({8, 8}), left = x.slice(1, 0, 4);
  vary({left}, Variation::kConstant, 1);
  EXPECT_TRUE(left.eq(left.narrow(1, 0, 1)).all().item<bool>());
  EXPECT_EQ(x[0][7].item<float>(), 7);
}

TEST(Vary, PerturbedInputsAreAboutAUnitAway) {
  const at::Tensor x = at::arange(1, 1025, at::kFloat).add_(0.25), before = x.clone();
  move_by_about_a_unit({x}, 1);
  const at::Tensor off = x.sub(before).div(before).abs();
  EXPECT_LE(off.max().item<float>(), 2.4e-7);
  EXPECT_GT(x.gt(before).sum().item<int64_t>(), 400);
  EXPECT_GT(x.lt(before).sum().item<int64_t>(), 400);
}

TEST(Vary, OutliersAreAtEitherEndOfSomeRows) {
  const at::Tensor x = at::randn({400, 30}), before = x.clone();
  vary({x}, Variation::kOutliers, 3);
  const double largest = before.abs().max().item<double>() * 64;
  EXPECT_TRUE(x.narrow(1, 1, 28).equal(before.narrow(1, 1, 28) * 64));
  for (const int64_t end : {0, 29}) {
    const at::Tensor outliers = x.select(1, end).gt(1.9 * largest);
    EXPECT_NEAR(static_cast<double>(outliers.sum().item<int64_t>()), 50, 5 * 6.6);  // 5 deviations
    EXPECT_TRUE(at::where(outliers, before.select(1, end) * 64, x.select(1, end))
                    .equal(before.select(1, end) * 64));
  }
}

TEST(Vary, NumbersArePutInSomeElements) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({1600}), half = at::zeros({1600}, at::kHalf);
  put_numbers(x, {0.5, -7});
  for (const double number : {0.5, -7.0}) {
    EXPECT_NEAR(static_cast<double>(x.eq(number).sum().item<int64_t>()), 100, 60) << number;
  }
  put_numbers(half, {0.1});  // which it cannot hold
  EXPECT_TRUE(half.eq(0).all().item<bool>());
  const at::Tensor expanded = at::zeros({1}).expand({1600});
  put_numbers(expanded, {3});
  EXPECT_TRUE(expanded.eq(0).all().item<bool>());
}

TEST(Vary, FlagsAreKnownExactly) {
  const at::Tensor x = at::rand({1000}).lt(0.5).to(at::kFloat).mul(1.25f), before = x.clone();
  move_by_about_a_unit({x, at::empty({0})}, 1);
  EXPECT_TRUE(x.equal(before));
}

TEST(Vary, WholeNumbersAreKnownExactly) {
  const at::Tensor x = at::tensor({0.0f, 1.0f, -1.0f, 1024.0f, -1e9f, INFINITY}),
                   before = x.clone();
  move_by_about_a_unit({x}, 1);
  EXPECT_TRUE(x.equal(before));
}

TEST(Vary, MasksOfOneShapeGetOtherRows) {
  at::manual_seed(1);
  const at::Tensor a = at::zeros({64, 64}, at::kBool), b = a.clone();
  put_whole_rows(a);
  put_whole_rows(b);
  EXPECT_FALSE(a.equal(b));
}

}  // namespace
}  // namespace kw::exec
