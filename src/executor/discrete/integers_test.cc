#include "executor/discrete/integers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace kw::exec {
namespace {

std::set<double> distinct(const at::Tensor& tensor) {
  const at::Tensor wide = tensor.to(at::kDouble).contiguous();
  const double* begin = wide.const_data_ptr<double>();
  return {begin, begin + wide.numel()};
}

TEST(Integers, AreSmallAndAllAlikeOften) {
  at::manual_seed(1);
  for (uint64_t seed : {uint64_t{1}, uint64_t{7}, ~uint64_t{0}}) {
    for (at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      const bool half = dtype == at::kHalf || dtype == at::kBFloat16;
      const at::Tensor far = at::randn({4000}).mul(100);
      const at::Tensor x = far.add(far.sign(), 3).to(dtype);  // -2 to 2 stay
      at::Tensor y = x.clone();
      make_integers(y, seed);
      const std::set<double> expected =
          half ? std::set<double>{-1, 0, 1} : std::set<double>{-2, -1, 1, 2};
      EXPECT_EQ(distinct(y), expected) << dtype;
      for (double value : expected) {
        const double share = y.eq(value).to(at::kDouble).mean().item<double>();
        EXPECT_NEAR(share, half && value == 0 ? 0.5 : 0.25, 0.05) << dtype << " " << value;
      }
    }
  }
}

TEST(Integers, KeepWhatAMatrixIsKnownFor) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({64, 64}), symmetric = (x + x.t()).tril() + (x + x.t()).triu(1);
  for (const auto& [matrix, sign] : {std::pair{symmetric, 1}, {x.triu(1) - x.triu(1).t(), -1}}) {
    at::Tensor flat = matrix.contiguous().reshape({-1}).clone();
    make_integers(flat, 5);
    const at::Tensor y = flat.reshape({64, 64});
    EXPECT_TRUE(at::equal(y, y.t() * sign));
  }
  at::Tensor lower = x.tril().reshape({-1});
  make_integers(lower, 5);
  EXPECT_EQ(lower.reshape({64, 64}).triu(1).abs().max().item<double>(), 0);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  at::Tensor kept = at::tensor({0.f, 1.f, -2.f, kInf, -kInf, std::nanf("")}, at::kFloat);
  const at::Tensor before = kept.clone();
  make_integers(kept, 5);
  EXPECT_TRUE(at::allclose(kept, before, 0, 0, /*equal_nan=*/true));
}

// A product of bfloat16 over 20000: what one of the products adds is a hundredth of the result,
// which its rounding hides as well.
TEST(Integers, ShowWhatRoundingHides) {
  at::manual_seed(3);
  const at::Tensor a = at::randn({16, 20000}).to(at::kBFloat16),
                   b = at::randn({20000, 16}).to(at::kBFloat16);
  at::Tensor x = a.clone().reshape({-1}), y = b.clone().reshape({-1});
  make_integers(x, 5), make_integers(y, 5);
  x = x.reshape(a.sizes()), y = y.reshape(b.sizes());
  const at::Tensor oracle = at::mm(x.to(at::kDouble), y.to(at::kDouble));
  const auto answer = [&](int64_t from, int64_t to) {
    const at::Tensor part =
        at::mm(x.slice(1, from, to).to(at::kFloat), y.slice(0, from, to).to(at::kFloat));
    return integer_answers(part.to(at::kBFloat16), oracle);
  };
  const IntegerAnswers right = answer(0, 20000);
  EXPECT_TRUE(right.whole);
  EXPECT_EQ(right.wrong, 0);
  EXPECT_GT(right.judged, 200);  // 256 is 3.6 times their root mean square
  EXPECT_GT(answer(0, 19999).wrong, 10);
  EXPECT_GT(answer(1, 20000).wrong, 10);
}

TEST(Integers, JudgeWhatTheDtypeHolds) {
  const auto judged = [](std::vector<double> oracle, std::vector<double> got,
                         at::ScalarType dtype) {
    return integer_answers(at::tensor(got, at::kDouble).to(dtype), at::tensor(oracle, at::kDouble));
  };
  EXPECT_EQ(judged({256, -257, 3}, {256, 0, 3}, at::kBFloat16).judged, 2);
  EXPECT_EQ(judged({256, -257, 3}, {256, 0, 3}, at::kBFloat16).wrong, 0);
  EXPECT_EQ(judged({2048, 2049, 7}, {2048, 0, 8}, at::kHalf).wrong, 1);
  EXPECT_EQ(judged({100000, 5}, {100000.2, 5.3}, at::kFloat).wrong, 1);
  EXPECT_EQ(judged({1, 2}, {1, std::nan("")}, at::kFloat).wrong, 1);
  EXPECT_FALSE(judged({1.5, 2}, {1.5, 2}, at::kFloat).whole);
  EXPECT_FALSE(judged({std::nan(""), 2}, {1.5, 2}, at::kFloat).whole);
}

}  // namespace
}  // namespace kw::exec
