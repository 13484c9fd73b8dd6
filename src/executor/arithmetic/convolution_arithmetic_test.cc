#include "executor/arithmetic/convolution_arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/arithmetic/tf32.h"
#include "executor/device/test_backend.h"
#include "executor/device/test_tensor_cores.h"
#include "executor/replay/replay.h"

namespace kw::exec {
namespace {

struct Convolution {
  std::vector<int64_t> input, weight;  // as the operator takes them
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;
};

AtenCall step_of(const Convolution& c, bool bias) {
  Json args = {{"input", v(0)},      {"weight", v(1)},       {"bias", bias ? v(2) : Json()},
               {"stride", c.stride}, {"padding", c.padding}, {"dilation", c.dilation},
               {"groups", c.groups}};
  const bool batched = c.input.size() == c.weight.size();
  if (batched) {
    args["transposed"] = c.transposed;
    args["output_padding"] = c.output_padding;
  }
  const auto value = [](const std::vector<int64_t>& shape, int i) {
    return value_json("float32", shape, i);
  };
  // Shapes of results do not matter here.
  const Program program = make_program(
      {value(c.input, 0), value(c.weight, 1), value({1}, 2), value({1}, 3)}, {0, 1, 2},
      {step_json(batched ? "aten.convolution.default" : "aten.conv1d.default", args, {3})}, {3});
  return std::get<AtenCall>(program.steps[0]);
}

// Counts terms by going through all places of input, window and channels, in one or two dimensions.
at::Tensor counted(const Convolution& c, at::IntArrayRef result) {
  const size_t spatial = c.stride.size();
  const auto extent = [&](at::IntArrayRef shape, size_t d) {
    return d < spatial ? shape[shape.size() - spatial + d] : 1;
  };
  at::Tensor out = at::zeros({extent(result, 0), extent(result, 1)});
  const int64_t channels = c.input[c.input.size() - spatial - 1] / c.groups;
  const auto stride = [&](size_t d) { return d < spatial ? c.stride[d] : 1; };
  const auto step = [&](size_t d) { return d < spatial ? c.dilation[d] : 1; };
  const auto pad = [&](size_t d) { return d < spatial ? c.padding[d] : 0; };
  const auto& [near, far] = c.transposed ? std::pair{c.input, std::vector<int64_t>(result.vec())}
                                         : std::pair{std::vector<int64_t>(result.vec()), c.input};
  // near[i] meets far[i * stride - padding + k * dilation].
  for (int64_t i = 0; i < extent(near, 0); ++i)
    for (int64_t j = 0; j < extent(near, 1); ++j)
      for (int64_t k = 0; k < extent(c.weight, 0); ++k)
        for (int64_t l = 0; l < extent(c.weight, 1); ++l) {
          const int64_t y = i * stride(0) - pad(0) + k * step(0);
          const int64_t x = j * stride(1) - pad(1) + l * step(1);
          if (y < 0 || x < 0 || y >= extent(far, 0) || x >= extent(far, 1)) continue;
          out[c.transposed ? y : i][c.transposed ? x : j] += static_cast<double>(channels);
        }
  return out;
}

const std::vector<Convolution> kConvolutions = {
    {{2, 6, 9}, {4, 6, 3}, {1}, {0}, {1}, {0}},
    {{6, 9}, {4, 3, 3}, {2}, {2}, {2}, {0}, 2},  // unbatched
    {{2, 4, 7, 5}, {6, 2, 3, 2}, {2, 1}, {1, 2}, {1, 2}, {0, 0}, 2},
    {{2, 4, 7, 5}, {4, 3, 3, 2}, {2, 3}, {1, 0}, {1, 2}, {1, 0}, 2, true},
    {{1, 8, 6}, {8, 5, 4}, {3}, {2}, {1}, {2}, 1, true},
};

TEST(ConvolutionArithmetic, TermsAreThoseInsideTheInput) {
  for (const Convolution& c : kConvolutions) {
    for (bool bias : {false, true}) {
      const AtenCall step = step_of(c, bias);
      const OperatorCall call(step, at::kCPU);
      const int64_t out = c.transposed ? c.weight[1] * c.groups : c.weight[0];
      const std::vector<at::Tensor> slots = {
          at::randn(c.input), at::randn(c.weight), at::randn({out}), {}};
      const at::Tensor result = call.run(slots)[0];
      const at::Tensor terms = ConvolutionArithmetic::of(step)->terms(call, slots);
      ASSERT_EQ(terms.dim(), static_cast<int64_t>(c.stride.size()));
      EXPECT_TRUE(terms.equal(counted(c, result.sizes()).view(terms.sizes()))) << terms;
    }
  }
}

TEST(ConvolutionArithmetic, IsLessByWhatAnAccumulatorCutsOff) {
  at::manual_seed(3);
  for (int64_t channels : {1024, 16384}) {
    const Convolution c = {{1, channels, 1}, {32, channels, 1}, {1}, {0}, {1}, {0}};
    for (double sign : {1.0, -1.0}) {
      const std::vector<at::Tensor> slots = {
          at::randn(c.input).abs() * sign, at::randn(c.weight).abs(), at::full({32}, 100.0), {}};
      for (bool bias : {false, true}) {
        const AtenCall step = step_of(c, bias);
        const OperatorCall call(step, at::kCPU);
        at::Tensor got = ConvolutionArithmetic::of(step)->on_tensor_cores(call, slots)[0];
        if (bias) got = got.to(at::kDouble) - 100;
        const at::Tensor x = rounded_to_tf32(slots[0]).flatten(), w = rounded_to_tf32(slots[1]);
        double ours = 0, theirs = 0;
        for (int64_t i = 0; i < 32; ++i) {
          const at::Tensor row = w[i].flatten();
          const double exact = x.to(at::kDouble).dot(row.to(at::kDouble)).item<double>();
          ours += 1 - got[i].item<double>() / exact;
          theirs +=
              1 -
              cut_off_sum(x.const_data_ptr<float>(), row.const_data_ptr<float>(), channels) / exact;
        }
        EXPECT_GT(theirs, 0);
        EXPECT_GT(ours, theirs / 2) << channels;
        EXPECT_LT(ours, theirs * 3) << channels;
      }
    }
  }
}

TEST(ConvolutionArithmetic, InfinitiesStayAndOneTensorMayBeBoth) {
  const Convolution c = {{1, 1024, 4}, {3, 1024, 1}, {1}, {0}, {1}, {0}};
  AtenCall step = step_of(c, false);
  std::vector<at::Tensor> slots = {at::randn(c.input), at::randn(c.weight), {}, {}};
  slots[0][0][5][2] = INFINITY;
  const at::Tensor got =
      ConvolutionArithmetic::of(step)->on_tensor_cores(OperatorCall(step, at::kCPU), slots);
  EXPECT_TRUE(got.isinf().equal(at::isinf(OperatorCall(step, at::kCPU).run(slots)[0])));
  EXPECT_FALSE(got.isnan().any().item<bool>());

  const Convolution same = {{512, 512, 1}, {512, 512, 1}, {1}, {0}, {1}, {0}};
  step = step_of(same, false);
  for (auto& [name, arg] : step.args) {
    if (name == "weight") arg = {ValueRef{0}};
  }
  slots[0] = at::randn(same.input);
  const OperatorCall both(step, at::kCPU);
  EXPECT_TRUE(at::allclose(ConvolutionArithmetic::of(step)->on_tensor_cores(both, slots),
                           both.run(slots)[0], 1e-2, 1e-1));
}

TEST(ConvolutionArithmetic, OthersThanFloat32AreAsTheyAre) {
  const Convolution c = {{1, 8, 4}, {3, 8, 1}, {1}, {0}, {1}, {0}};
  const AtenCall step = step_of(c, true);
  const OperatorCall call(step, at::kCPU);
  const auto wide = at::TensorOptions(at::kDouble);
  const std::vector<at::Tensor> slots = {
      at::randn(c.input, wide), at::randn(c.weight, wide), at::randn({3}, wide), {}};
  EXPECT_TRUE(
      ConvolutionArithmetic::of(step)->on_tensor_cores(call, slots).equal(call.run(slots)[0]));
}

}  // namespace
}  // namespace kw::exec
