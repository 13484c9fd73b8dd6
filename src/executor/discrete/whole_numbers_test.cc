// Properties of changed whole numbers: what they may be follows from how they were made.
#include "executor/discrete/whole_numbers.h"

#include <gtest/gtest.h>

#include <set>

#include "executor/aten/seeds.h"

namespace kw::exec {
namespace {

constexpr int kSeeds = 50;

at::Tensor changed(const at::Tensor& before, SourceChange change, Reach reach, uint64_t seed,
                   const std::vector<int64_t>& named = {}) {
  seed_generators(seed);
  const at::Tensor out = before.clone();
  const Source source{
      0, {"aten.randint.low", {{"low", {int64_t{2}}}, {"high", {int64_t{9}}}}, {}, {}}};
  change_source(out, source, change, named, reach);
  EXPECT_EQ(out.sizes(), before.sizes());
  EXPECT_EQ(out.scalar_type(), before.scalar_type());
  return out;
}

std::multiset<int64_t> numbers_of(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.reshape({-1}).to(at::kLong).contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

TEST(WholeNumbers, EndsAreThoseOfTheDraw) {
  int both = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const at::Tensor before = at::randint(4, 6, {4, 5}, at::kInt);
    const auto got = numbers_of(changed(before, SourceChange::kEnds, Reach::kBold, seed));
    EXPECT_EQ(*got.begin(), 2);
    EXPECT_LE(*got.rbegin(), 8);
    both += *got.rbegin() == 8;  // the lower end may fall on the upper one's places
  }
  EXPECT_GT(both, kSeeds / 2);
}

TEST(WholeNumbers, NamedOnesArePutBesideOthers) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const at::Tensor before = at::full({64}, 5, at::kLong);
    const auto bold =
        numbers_of(changed(before, SourceChange::kNamed, Reach::kBold, seed, {-100, -1}));
    EXPECT_GT(bold.count(-1), 0u);
    EXPECT_GT(bold.count(5), 0u);
    const auto careful =
        numbers_of(changed(before, SourceChange::kNamed, Reach::kCareful, seed, {-100, -1}));
    EXPECT_EQ((careful.count(-1) > 0) + (careful.count(-100) > 0), 1);
  }
}

TEST(WholeNumbers, InOrderStayInOrderBetweenTheSameEnds) {
  int twice = 0, other = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const at::Tensor before = at::tensor({0, 16, 32, 48, 64}, at::kLong);
    for (const Reach reach : {Reach::kBold, Reach::kCareful}) {
      const at::Tensor got = changed(before, SourceChange::kOther, reach, seed);
      EXPECT_EQ(got[0].item<int64_t>(), 0);
      EXPECT_EQ(got[-1].item<int64_t>(), 64);
      EXPECT_TRUE(got.diff().ge(reach == Reach::kBold ? 0 : 1).all().item<bool>()) << got;
      other += !at::equal(got, before);
      twice += got.diff().eq(0).any().item<bool>();
    }
  }
  EXPECT_GT(other, kSeeds);
  EXPECT_GT(twice, 0);
  const at::Tensor tight = at::arange(6, at::kLong);  // no room for others
  EXPECT_TRUE(at::equal(changed(tight, SourceChange::kOther, Reach::kCareful, 1), tight));
}

TEST(WholeNumbers, UnequalOnesStayWithinWhatTheyWere) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const at::Tensor before = at::tensor({64, 60, 64, 61}, at::kLong);
    const auto got = numbers_of(changed(before, SourceChange::kOther, Reach::kCareful, seed));
    EXPECT_GE(*got.begin(), 1);
    EXPECT_LE(*got.rbegin(), 64);
    EXPECT_NE(got, numbers_of(before));
  }
}

TEST(WholeNumbers, ACarefulShuffleIsAPermutationAndABoldOneRepeatsSome) {
  int repeated = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const at::Tensor before = at::arange(40, at::kLong).reshape({5, 8});
    const at::Tensor careful = changed(before, SourceChange::kShuffle, Reach::kCareful, seed);
    EXPECT_EQ(numbers_of(careful), numbers_of(before));
    EXPECT_FALSE(at::equal(careful, before));
    const auto bold = numbers_of(changed(before, SourceChange::kShuffle, Reach::kBold, seed));
    EXPECT_GE(*bold.begin(), 0);
    EXPECT_LE(*bold.rbegin(), 39);
    repeated += std::set(bold.begin(), bold.end()).size() < 40;
  }
  EXPECT_GT(repeated, kSeeds / 2);
}

TEST(WholeNumbers, EqualOnesBecomeSmallerAndFlagsTurn) {
  bool zero = false;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const at::Tensor lengths = at::full({8}, 24, at::kInt);
    const auto careful = numbers_of(changed(lengths, SourceChange::kOther, Reach::kCareful, seed));
    EXPECT_GE(*careful.begin(), 1);
    EXPECT_LE(*careful.rbegin(), 24);
    EXPECT_LT(*careful.begin(), 24);
    zero = zero || numbers_of(changed(lengths, SourceChange::kOther, Reach::kBold, seed)).count(0);
    const at::Tensor flag = at::ones({1}, at::kBool);
    EXPECT_FALSE(changed(flag, SourceChange::kOther, Reach::kCareful, seed).item<bool>());
    const at::Tensor flags =
        changed(at::zeros({100}, at::kBool), SourceChange::kOther, Reach::kCareful, seed);
    EXPECT_TRUE(flags.any().item<bool>());
    EXPECT_FALSE(flags.all().item<bool>());
    for (const int64_t number : {0, 1, 24}) {
      const at::Tensor one = at::full({1}, number, at::kLong);
      EXPECT_FALSE(at::equal(changed(one, SourceChange::kOther, Reach::kBold, seed), one));
    }
    const at::Tensor negative = at::full({4}, -1, at::kLong);
    EXPECT_TRUE(at::equal(changed(negative, SourceChange::kOther, Reach::kBold, seed), negative));
  }
  EXPECT_TRUE(zero);
}

}  // namespace
}  // namespace kw::exec
