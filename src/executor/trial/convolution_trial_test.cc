// Tests what trials allow kernels that convolve on tensor cores.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/arithmetic/tf32.h"
#include "executor/device/test_backend.h"
#include "executor/device/test_tensor_cores.h"
#include "executor/trial/trial.h"

namespace kw::exec {
namespace {

constexpr int64_t kRows = 64, kChannels = 8192, kMade = 16;

Json convolved() {
  return step_json("aten.conv1d.default", {{"input", v(0)}, {"weight", v(1)}}, {2});
}

Task convolution_reference() {
  return make_task(random_inputs({{kRows, kChannels, 1}, {kMade, kChannels, 1}}),
                   make_program({value_json("float32", {kRows, kChannels, 1}, 0),
                                 value_json("float32", {kMade, kChannels, 1}, 1),
                                 value_json("float32", {kRows, kMade, 1}, 2)},
                                {0, 1}, {convolved()}, {2}));
}

Task convolution_candidate() {
  std::vector<Kernel> kernels = {make_kernel("convolve", {"*fp32", "*fp32", "*fp32"}, {2})};
  Program forward =
      make_program({value_json("float32", {kRows, kChannels, 1}, 0),
                    value_json("float32", {kMade, kChannels, 1}, 1),
                    value_json("float32", {kRows, kMade, 1}, 2)},
                   {0, 1},
                   {step_json("aten.empty.memory_format", {{"size", {kRows, kMade, 1}}}, {2}),
                    launch_json(0, {v(0), v(1), v(2)})},
                   {2}, kernels);
  return make_task(random_inputs({{kRows, kChannels, 1}, {kMade, kChannels, 1}}),
                   std::move(forward), kernels);
}

TrialReport run(const Task& reference, const Task& candidate, TrialRequest request,
                FakeBackend& backend) {
  LoadedTask r(reference, backend), c(candidate, backend);
  request.reference = 1;
  request.candidate = 2;
  return Trials(backend).run(request, r, c);
}

// If all inputs are negative, all terms have one sign, and errors of rounding average out.
TEST(ConvolutionTrial, SumsOfOneSignMayBeCutOff) {
  for (double less : {0.0, 1e-3}) {
    FakeBackend backend;
    backend.kernels["convolve"] = [&](std::span<const at::Tensor> t) {
      const at::Tensor x = rounded_to_tf32(t[0]), w = rounded_to_tf32(t[1]);
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < kMade; ++j) {
          const float sum = cut_off_sum(x.const_data_ptr<float>() + i * kChannels,
                                        w.const_data_ptr<float>() + j * kChannels, kChannels);
          static_cast<float*>(t[2].mutable_data_ptr())[i * kMade + j] =
              sum * static_cast<float>(1 - less);
        }
      }
    };
    for (Variation variation : {Variation::kPlain, Variation::kNegative}) {
      const TrialReport report = run(convolution_reference(), convolution_candidate(),
                                     {.seed = 5, .variation = variation}, backend);
      ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
      const OutputErrors& errors = report.outputs.at(0);
      const bool negative = variation == Variation::kNegative;
      // An error of a thousandth is less than that of TF32 if terms cancel.
      EXPECT_EQ(errors.candidate_rms <= 4 * errors.reference_rms, less == 0 || !negative)
          << errors.candidate_rms << " " << errors.reference_rms;
      if (negative) {
        EXPECT_LT(errors.reference_rms, 1e-4);
      }
    }
  }
}

// The weight of a transposed convolution has the input's channels first.
TEST(ConvolutionTrial, SoMayThoseOfTransposedConvolutions) {
  const auto task = [] {
    return make_task(random_inputs({{1, kChannels, 4}, {kChannels, 1, 2}}),
                     make_program({value_json("float32", {1, kChannels, 4}, 0),
                                   value_json("float32", {kChannels, 1, 2}, 1),
                                   value_json("float32", {1, 1, 5}, 2)},
                                  {0, 1},
                                  {step_json("aten.convolution.default",
                                             {{"input", v(0)},
                                              {"weight", v(1)},
                                              {"bias", Json()},
                                              {"stride", {1}},
                                              {"padding", {0}},
                                              {"dilation", {1}},
                                              {"transposed", true},
                                              {"output_padding", {0}},
                                              {"groups", 1}},
                                             {2})},
                                  {2}));
  };
  FakeBackend backend;
  const TrialReport report =
      run(task(), task(), {.seed = 5, .variation = Variation::kNegative}, backend);
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  // Eight at a time, half a unit of a sum that is half of its last value in the mean: 2^-25 / 8 for
  // each of 8192 to 16384 terms.
  EXPECT_GT(report.outputs.at(0).reference_rms, 0.9 * kChannels * 0x1p-28);
  EXPECT_LT(report.outputs.at(0).reference_rms, 2.5 * kChannels * 0x1p-28);
}

// y / convolution, near zero somewhere: that element's error is of one rounding to TF32, and
// inputs one float32 unit off round alike.
TEST(ConvolutionTrial, PerturbedInputsRoundToTf32Otherwise) {
  const auto quotient = [] {
    return make_task(
        random_inputs({{kRows, 64, 1}, {kMade, 64, 1}, {kRows, kMade, 1}}),
        make_program(
            {value_json("float32", {kRows, 64, 1}, 0), value_json("float32", {kMade, 64, 1}, 1),
             value_json("float32", {kRows, kMade, 1}, 2),
             value_json("float32", {kRows, kMade, 1}, 3),
             value_json("float32", {kRows, kMade, 1}, 4)},
            {0, 1, 2},
            {step_json("aten.conv1d.default", {{"input", v(0)}, {"weight", v(1)}}, {3}),
             step_json("aten.div.Tensor", {{"self", v(2)}, {"other", v(3)}}, {4})},
            {4}));
  };
  double plain = 0, perturbed = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    FakeBackend backend;
    TrialRequest request;
    request.seed = seed;
    plain += run(quotient(), quotient(), request, backend).outputs.at(0).reference_rms;
    request.neighbours = true;
    perturbed += run(quotient(), quotient(), request, backend).outputs.at(0).reference_rms;
  }
  EXPECT_GT(perturbed, 1.5 * plain);
}

}  // namespace
}  // namespace kw::exec
