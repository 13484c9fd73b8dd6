#include "executor/trial/persistent_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace kw::exec {
namespace {

constexpr Scramble kWays[] = {Scramble::kBits, Scramble::kLarge, Scramble::kNegative,
                              Scramble::kSmall};

std::vector<float> numbers(const at::Tensor& tensor) {
  const auto* data = static_cast<const float*>(tensor.const_data_ptr());
  return {data, data + tensor.numel()};
}

TEST(PersistentState, OnlyWhatChangedIsOverwritten) {
  for (Scramble how : kWays) {
    const at::Tensor before = at::full({64}, 0.25f), after = before.clone();
    after.narrow(0, 10, 20).fill_(0.5f);
    PersistentState(how).scramble({before}, {after});
    const std::vector<float> now = numbers(after);
    for (int i = 0; i < 64; i += i == 9 ? 21 : 1) EXPECT_EQ(now[i], 0.25f) << i;
    // A draw cannot plausibly give the old number twenty times.
    EXPECT_FALSE(
        std::all_of(now.begin() + 10, now.begin() + 30, [](float x) { return x == 0.5f; }));
  }
}

TEST(PersistentState, WhatChangedInAnEarlierCallIsOverwrittenAgain) {
  PersistentState persistent(Scramble::kLarge);
  const at::Tensor before = at::zeros({4}), first = before.clone();
  first.narrow(0, 1, 1).fill_(1);
  persistent.scramble({before}, {first});
  const at::Tensor second = first.clone();
  second.narrow(0, 2, 1).fill_(1);
  persistent.scramble({first}, {second});
  EXPECT_EQ(numbers(second)[0], 0);
  EXPECT_NE(numbers(second)[1], numbers(first)[1]);
  EXPECT_NE(numbers(second)[2], 1);
  EXPECT_EQ(numbers(second)[3], 0);
}

// Each way has its magnitude in each dtype that can hold it.
TEST(PersistentState, NumbersAreOfTheirMagnitude) {
  for (at::ScalarType type : {at::kFloat, at::kHalf, at::kInt, at::kLong, at::kShort, at::kChar}) {
    const auto drawn = [&](Scramble how) {
      const at::Tensor before = at::zeros({200}, type), after = at::ones({200}, type);
      PersistentState(how).scramble({before}, {after});
      return numbers(after.to(at::kFloat));
    };
    for (float x : drawn(Scramble::kLarge)) EXPECT_TRUE(std::isfinite(x) && x >= 6) << type << x;
    for (float x : drawn(Scramble::kNegative)) EXPECT_TRUE(std::isfinite(x) && x <= -6) << type;
    for (float x : drawn(Scramble::kSmall)) EXPECT_TRUE(x >= 0 && x <= 16 && x == std::floor(x));
  }
}

TEST(PersistentState, ViewsOfOneStorageAreOneTensor) {
  const at::Tensor before = at::zeros({8}), after = before.clone();
  after.narrow(0, 6, 1).fill_(1);
  const std::vector<at::Tensor> old = {before.narrow(0, 0, 4), before.narrow(0, 4, 4)};
  PersistentState(Scramble::kLarge).scramble(old, {after.narrow(0, 0, 4), after.narrow(0, 4, 4)});
  EXPECT_GT(numbers(after)[6], 1);
  EXPECT_EQ(numbers(after)[5], 0);
}

}  // namespace
}  // namespace kw::exec
