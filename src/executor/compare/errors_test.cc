#include "executor/compare/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "executor/aten/guarded_memory.h"

namespace kw::exec {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

at::Tensor doubles(std::vector<double> values) {
  return at::tensor(at::ArrayRef<double>(values), at::kDouble);
}

// Computes the definition of protocol.h element by element.
ErrorSums naive(const at::Tensor& got, const at::Tensor& oracle) {
  const at::Tensor g = got.to(at::kDouble).contiguous(), o = oracle.to(at::kDouble).contiguous();
  double errors = 0, worst = 0, scale = 0, largest = 0;
  int64_t both = 0, oracles = 0;
  for (int64_t i = 0; i < g.numel(); ++i) {
    const double a = g.data_ptr<double>()[i], b = o.data_ptr<double>()[i];
    if (!std::isfinite(b)) continue;
    ++oracles;
    scale += b * b;
    largest = std::max(largest, std::abs(b));
    if (!std::isfinite(a)) continue;
    ++both;
    errors += (a - b) * (a - b);
    worst = std::max(worst, std::abs(a - b));
  }
  ErrorSums out;
  out.oracle_rms = std::sqrt(scale / static_cast<double>(oracles));
  out.oracle_max = largest;
  out.rms = std::sqrt(errors / static_cast<double>(both)) / out.oracle_rms;
  out.worst = worst / out.oracle_rms;
  return out;
}

TEST(Metrics, ErrorsFollowTheirDefinition) {
  at::manual_seed(1);
  for (const auto& sizes : {std::vector<int64_t>{7}, {3, 5}, {(1 << 22) + 17}}) {
    const at::Tensor oracle = at::randn(sizes, at::kDouble) * 100;
    at::Tensor got = oracle.to(at::kFloat) + at::randn(sizes);
    got.view(-1)[2] = kNotANumber;
    got.view(-1)[5] = kInfinity;
    const ErrorSums sums = error_against(got, oracle, at::kCPU), expected = naive(got, oracle);
    EXPECT_NEAR(sums.rms, expected.rms, 1e-12);
    EXPECT_NEAR(sums.worst, expected.worst, 1e-12);
    EXPECT_NEAR(sums.oracle_rms, expected.oracle_rms, 1e-9);
    EXPECT_EQ(sums.oracle_max, expected.oracle_max);
    EXPECT_FALSE(sums.finite);
  }
}

TEST(Metrics, ShapesAndStridesDoNotMatter) {
  const at::Tensor a = at::randn({6, 5}), b = a.to(at::kDouble);
  EXPECT_EQ(error_against(a.t(), b.t(), at::kCPU).rms, 0);
  EXPECT_EQ(error_against(at::zeros({0, 3}), at::zeros({0, 3}), at::kCPU).rms, 0);
  EXPECT_TRUE(bit_equal(a.t(), a.t().contiguous()));
}

TEST(Metrics, InfinityIsSoundOnlyWhereTheOracleHasIt) {
  const at::Tensor oracle = doubles({1, kInfinity, -kInfinity});
  EXPECT_TRUE(error_against(doubles({1, kInfinity, -kInfinity}), oracle, at::kCPU).finite);
  EXPECT_FALSE(error_against(doubles({1, kInfinity, kInfinity}), oracle, at::kCPU).finite);
  EXPECT_FALSE(error_against(doubles({kInfinity, kInfinity, -kInfinity}), oracle, at::kCPU).finite);
  EXPECT_FALSE(error_against(doubles({kNotANumber}), doubles({kNotANumber}), at::kCPU).finite);
}

TEST(Metrics, AZeroOracleMeansAbsoluteErrors) {
  const ErrorSums sums = error_against(doubles({0.5, -0.5}), doubles({0, 0}), at::kCPU);
  EXPECT_EQ(sums.rms, 0.5);
  EXPECT_EQ(sums.worst, 0.5);
}

TEST(Metrics, CandidatesAreHeldToTheReferencesNonFiniteElements) {
  const at::Tensor reference = doubles({1, kNotANumber, kInfinity, -kInfinity, kNotANumber, 2});
  OutputErrors errors;
  candidate_errors(doubles({1, kNotANumber, kInfinity, kInfinity, 3, kInfinity}), reference,
                   reference, errors);
  EXPECT_EQ(errors.nonfinite_mismatch, 3);
  EXPECT_FALSE(errors.exact_equal);
  OutputErrors same;
  candidate_errors(reference, reference, reference, same);
  EXPECT_EQ(same.nonfinite_mismatch, 0);
  EXPECT_TRUE(same.exact_equal);
}

TEST(Metrics, AllcloseIsKernelBenchs) {
  OutputErrors errors;
  const at::Tensor reference = doubles({0, 10, -10});
  candidate_errors(doubles({0.005, 10.055, -10}), reference, reference, errors);
  EXPECT_NEAR(errors.allclose_worst, std::max(0.005 / 0.01, 0.055 / 0.11), 1e-9);
}

TEST(Metrics, IntegersAndBoolsCountMismatches) {
  OutputErrors errors;
  const at::Tensor a = at::arange(10), b = a.clone();
  b[3] = 7;
  b[9] = -1;
  candidate_errors(a, b, b, errors);
  EXPECT_EQ(errors.int_mismatch, 2);
  OutputErrors bools;
  at::Tensor poisoned = at::ones({4}, at::kBool);
  poison_storage(poisoned);  // every byte is "true", none was written
  candidate_errors(poisoned, at::ones({4}, at::kBool), at::ones({4}, at::kBool), bools);
  EXPECT_EQ(bools.int_mismatch, 4);
}

TEST(Metrics, DistanceSeesRoundingAndPoison) {
  const at::Tensor a = at::randn({100});
  EXPECT_EQ(distance(a, a.clone()), 0);
  const double d = distance(a * (1 + 1e-3), a);
  EXPECT_NEAR(d, 1e-3, 1e-5);
  at::Tensor hole = a.clone();
  hole[17] = kNotANumber;
  EXPECT_EQ(distance(hole, a), kInfinity);
  EXPECT_EQ(distance(at::arange(3), at::arange(3) + 1), kInfinity);
}

// The reference's update is exact here.
bool alike(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& before) {
  return updated_alike(got, expected, before, {expected.to(at::kDouble), 0});
}

// An update counts, even if it is small compared with the tensor, or changes little of it.
TEST(Metrics, UpdatesAreComparedByWhatTheyChange) {
  at::manual_seed(5);
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor before = at::randn({64, 1024}, type);
    at::Tensor row = before.clone();
    row.select(1, 7).copy_(at::randn({64}, type));
    EXPECT_TRUE(alike(row, row, before));
    EXPECT_FALSE(alike(before, row, before)) << "left out";
    EXPECT_FALSE(alike(row, before, before)) << "nothing was to change";
    at::Tensor elsewhere = before.clone();
    elsewhere.select(1, 8).copy_(row.select(1, 7));
    EXPECT_FALSE(alike(elsewhere, row, before));
    // An average moves by a twentieth, computed in another order.
    const at::Tensor x = at::randn({64, 1024}, type);
    const at::Tensor moved = before.mul(0.95).add(x, 0.05);
    const at::Tensor exact = before.to(at::kDouble).mul(0.95).add(x.to(at::kDouble), 0.05);
    const UpdateOracle oracle = {exact, update_error(moved, exact)};
    EXPECT_TRUE(updated_alike(before.add(x.sub(before), 0.05), moved, before, oracle));
    EXPECT_FALSE(updated_alike(before, moved, before, oracle));
    EXPECT_FALSE(updated_alike(before.mul(0.95), moved, before, oracle));
  }
  // One element of many is left out, or written although it has to stay.
  const at::Tensor cache = at::zeros({256, 256}), fresh = at::randn({256, 256}).sin() * 2 + 1;
  at::Tensor missing = fresh.clone();
  missing[255][255] = 0;
  EXPECT_FALSE(alike(missing, fresh, cache));
  at::Tensor half = cache.clone(), stray = cache.clone();
  half.slice(1, 1).copy_(fresh.slice(1, 1));
  stray.copy_(half)[7][0] = fresh[7][0];
  EXPECT_FALSE(alike(stray, half, cache));
  // Products in TF32 are this far off. It is allowed only if the reference's are, too.
  const at::Tensor near = fresh + at::randn({256, 256}) * 5e-4;
  EXPECT_TRUE(updated_alike(near, fresh, cache, {fresh.to(at::kDouble), 2e-4}));
  EXPECT_FALSE(alike(near, fresh, cache));
  // In a mean of a half type, an element may stay only if its change rounds away.
  const at::Tensor usage = at::full({8}, 0.125, at::kBFloat16);
  const at::Tensor used = usage.mul(0.95).add(at::arange(8).to(at::kBFloat16) * 0.003);
  EXPECT_FALSE(alike(usage, used, usage));
  const at::Tensor before = at::randn({1000}), x = at::randn({1000});
  const at::Tensor moved = before.mul(0.9999).add(x, 1e-4);
  EXPECT_TRUE(alike(before.add(x.sub(before), 1e-4), moved, before));
  EXPECT_FALSE(alike(before, moved, before));
  EXPECT_FALSE(alike(before.mul(0.9998), moved, before));
  // What stays must stay bit for bit: elements that fade by their last place vanish in the end.
  const at::Tensor old = at::randn({64, 64}).to(at::kBFloat16);
  at::Tensor written = old.clone(), faded = old.mul(0.995);
  written[3] = 1;
  faded[3] = 1;
  EXPECT_TRUE(alike(written.clone(), written, old));
  EXPECT_FALSE(alike(faded, written, old));
  // What stays only because of rounding may be off by one unit.
  EXPECT_TRUE(updated_alike(old.mul(0.995), old, old, {old.to(at::kDouble) * 0.998, 0.01}));
  const at::Tensor nan = at::full({1000}, NAN);
  EXPECT_FALSE(alike(nan, moved, before));
  EXPECT_TRUE(alike(nan, nan, before));
  const at::Tensor count = at::arange(10);
  EXPECT_TRUE(alike(count.add(1), count.add(1), count));
  EXPECT_FALSE(alike(count, count.add(1), count));
}

// A row that changes by a thousandth of what others do is held to its own change.
TEST(Metrics, UpdatesOfSmallRowsAreCompared) {
  at::manual_seed(6);
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor scales = at::ones({64, 1});
    scales[9][0] = 1e-3;
    const at::Tensor before = at::zeros({64, 64}, type);
    const at::Tensor fresh = (at::randn({64, 64}) * scales).to(type);
    at::Tensor wrong = fresh.clone();
    wrong[9].copy_(at::randn({64}) * 1e-3);
    EXPECT_FALSE(alike(wrong, fresh, before)) << type;
    EXPECT_FALSE(alike(wrong.t(), fresh.t(), before)) << type;
    const double eps = type == at::kFloat ? 1.2e-7 : type == at::kHalf ? 9.8e-4 : 7.8e-3;
    const at::Tensor rounded = (fresh.to(at::kDouble) * (1 + 2 * eps)).to(type);
    EXPECT_TRUE(alike(rounded, fresh, before)) << type;
  }
}

TEST(Metrics, MetadataDifferences) {
  const Value base{DType::kFloat32, {2, 3, 4}, {12, 4, 1}, 0, 0};
  Value other = base;
  other.offset = 5;
  other.storage = 3;
  EXPECT_EQ(meta_difference(other, base), "");
  other.dtype = DType::kFloat16;
  EXPECT_NE(meta_difference(other, base).find("float16"), std::string::npos);
  other = base;
  other.shape = {2, 3, 5};
  EXPECT_NE(meta_difference(other, base).find("[2, 3, 5]"), std::string::npos);
  other = base;
  other.strides = {12, 1, 3};
  EXPECT_EQ(meta_difference(other, base), "") << "another order of the same elements";
  other.strides = {24, 8, 2};
  EXPECT_EQ(meta_difference(other, base), "") << "with holes";
  other.strides = {4, 0, 1};
  EXPECT_NE(meta_difference(other, base).find("share memory"), std::string::npos);
  EXPECT_EQ(meta_difference(other, other), "") << "as the reference's do";
  other.strides = {3, 4, 1};
  EXPECT_NE(meta_difference(other, base), "");
  const Value ones{DType::kFloat32, {1, 3, 1}, {3, 1, 1}, 0, 0};
  Value odd = ones;
  odd.strides = {7, 1, 9};
  EXPECT_EQ(meta_difference(odd, ones), "") << "steps of dimensions of one element mean nothing";
}

}  // namespace
}  // namespace kw::exec
