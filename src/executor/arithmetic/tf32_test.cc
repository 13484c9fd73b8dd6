#include "executor/arithmetic/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "executor/replay/replay.h"

namespace kw::exec {
namespace {

TEST(Tf32, RoundsToTheNearestOfTenBits) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({10000}) * at::exp(at::randn({10000}) * 10);
  const at::Tensor y = rounded_to_tf32(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double a = x[i].item<double>(), b = y[i].item<double>();
    const double unit = std::exp2(std::floor(std::log2(std::abs(a))) - 10);
    EXPECT_EQ(std::fmod(b, unit), 0) << a;
    EXPECT_LE(std::abs(a - b), unit / 2) << a;
    if (i > 500) break;
  }
  const at::Tensor tie = at::full({1}, 1.0 + 0x1p-11);
  EXPECT_EQ(rounded_to_tf32(tie).item<double>(), 1 + 0x1p-10);
  EXPECT_EQ(rounded_to_tf32(-tie).item<double>(), -1 - 0x1p-10);
}

// Fractions f of a unit are rounded up with probability p: 0 up to a quarter, 2 f - 1/2, 1 from
// three quarters on. The mean square of their errors is the integral of p (1 - f)^2 + (1 - p) f^2,
// 5/48, and what two roundings have in common that of (p - f)^2, 1/48.
TEST(Tf32, DitheredItIsRightInTheMean) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({100000});
  const at::Tensor unit = at::exp2(at::floor(at::log2(x.abs())) - 10);
  const auto off = [&](int32_t dither) {
    return ((rounded_to_tf32(x, dither) - x) / unit).to(at::kDouble);
  };
  for (int32_t dither : {1, 2, 3, -7}) {
    const at::Tensor by = off(dither);
    EXPECT_LT(by.abs().max().item<double>(), 1);
    EXPECT_NEAR(by.std().item<double>(), std::sqrt(5.0 / 48), 0.01);
    EXPECT_LT(std::abs((by * x.sign()).mean().item<double>()), 4 * std::sqrt(5.0 / 48e5));
    EXPECT_NEAR(by.mul(off(dither + 1)).mean().item<double>(), 1.0 / 48, 0.002);
  }
  EXPECT_TRUE(rounded_to_tf32(rounded_to_tf32(x), 5).equal(rounded_to_tf32(x)));
}

TEST(Tf32, LeavesOthersAlone) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const at::Tensor odd = at::tensor({kInf, -kInf, std::numeric_limits<float>::max()}, at::kFloat);
  EXPECT_TRUE(at::equal(rounded_to_tf32(odd), odd));
  EXPECT_TRUE(rounded_to_tf32(at::full({1}, std::nan(""), at::kFloat)).isnan().all().item<bool>());
  const at::Tensor wide = at::randn({8}, at::kDouble);
  EXPECT_TRUE(at::equal(rounded_to_tf32(wide), wide));
}

// A convolution of one channel and one weight is a product: it shows what its operands were.
TEST(Tf32, ConvolutionsOnlyAndOnlyWhenAsked) {
  Task task;
  Program& p = task.forward;
  p.values = {{DType::kFloat32, {1, 1, 4, 4}, {16, 16, 4, 1}, 0, 0},
              {DType::kFloat32, {1, 1, 1, 1}, {1, 1, 1, 1}, 0, 1},
              {DType::kFloat32, {1, 1, 4, 4}, {16, 16, 4, 1}, 0, 2},
              {DType::kFloat32, {1, 1, 4, 4}, {16, 16, 4, 1}, 0, 3}};
  p.inputs = {0, 1};
  p.steps = {
      AtenCall{
          "aten.conv2d.default", {{"input", {ValueRef{0}}}, {"weight", {ValueRef{1}}}}, {2}, {}},
      AtenCall{"aten.mul.Tensor", {{"self", {ValueRef{0}}}, {"other", {ValueRef{1}}}}, {3}, {}}};
  p.outputs = {2, 3};
  at::manual_seed(2);
  const at::Tensor x = at::randn({1, 1, 4, 4}), w = at::randn({1, 1, 1, 1});
  for (bool asked : {false, true}) {
    Replay replay(p, task.kernels, nullptr, at::kCPU);
    if (asked) replay.convolve_in_tf32();
    const auto out = replay.run({x, w}, {});
    const at::Tensor expected = asked ? rounded_to_tf32(x) * rounded_to_tf32(w) : x * w;
    EXPECT_TRUE(at::equal(out[0], expected)) << asked;
    EXPECT_TRUE(at::equal(out[1], x * w));
  }
}

}  // namespace
}  // namespace kw::exec
