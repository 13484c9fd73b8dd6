// Tests what trials allow kernels that round the arguments of exponentials.
#include "executor/trial/test_trial.h"

namespace kw::exec {
namespace {

using ExponentialTrial = TrialTest;
INSTANTIATE_TEST_SUITE_P(Isolation, ExponentialTrial, testing::Bool(),
                         [](const auto& info) { return info.param ? "isolated" : "shared"; });

// Computes exp(x) as 2 to the power of a rounded product. It is off by as many units in the last
// place as the exponent is large, and PyTorch's own is not.
TEST_P(ExponentialTrial, ExponentialsMayRoundTheirArgument) {
  for (double off : {1.0, 1 + 3e-5}) {
    backend_.kernels["exp_mul"] = [off](std::span<const at::Tensor> t) {
      for (int64_t i = 0; i < kN; ++i) {
        const float exponent = data(t[0])[i] * static_cast<float>(M_LOG2E * off);
        data(t[2])[i] = std::exp2(exponent) * data(t[1])[i];
      }
    };
    const TrialReport report =
        run(reference_task(), kernel_task(), {.variation = Variation::kScaleUp});
    EXPECT_EQ(within(report.outputs[0]), off == 1) << report.outputs[0].candidate_rms;
  }
}

// What kernels may err never reduces what PyTorch itself errs, so a candidate that computes as
// PyTorch does still passes. In two of these seeds kernels err more in the mean and less at most,
// which is rare.
TEST_P(ExponentialTrial, PyTorchsOwnErrorsStayAllowed) {
  backend_.kernels["exp_mul"] = [](std::span<const at::Tensor> t) {
    at::Tensor(t[2]).copy_(t[0].exp() * t[1]);
  };
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    const TrialReport report = run(reference_task(), kernel_task(), {.seed = seed});
    ASSERT_TRUE(report.outputs.at(0).exact_equal);
    EXPECT_LE(report.outputs[0].candidate_rms, report.outputs[0].reference_rms) << seed;
    EXPECT_LE(report.outputs[0].candidate_worst, report.outputs[0].reference_worst) << seed;
  }
}

// Indices may differ as well: elements that PyTorch's exp tells apart may be too near for others.
TEST_P(ExponentialTrial, IndicesMayBeOfExponentialsThatRoundTheirArgument) {
  const std::vector<int64_t> shape = {8, 512};
  const auto wide = [&](int i) { return value_json("float32", shape, i); };
  const Task reference =
      make_task(random_inputs({shape}),
                make_program({wide(0), wide(1), wide(2), wide(3), value_json("int64", {8}, 4)}, {0},
                             {step_json("aten.mul.Scalar", {{"self", v(0)}, {"other", 1e-4}}, {1}),
                              step_json("aten.add.Scalar", {{"self", v(1)}, {"other", 80}}, {2}),
                              step_json("aten.exp.default", {{"self", v(2)}}, {3}),
                              step_json("aten.argmax.default", {{"self", v(3)}, {"dim", 1}}, {4})},
                             {4}));
  std::vector<Kernel> kernels = {make_kernel("largest", {"*fp32", "*i64"}, {1})};
  const Json made =
      step_json("aten.empty.memory_format", {{"size", {8}}, {"dtype", {{"dtype", "int64"}}}}, {1});
  const Task candidate = make_task(random_inputs({shape}),
                                   make_program({wide(0), value_json("int64", {8}, 1)}, {0},
                                                {made, launch_json(0, {v(0), v(1)})}, {1}, kernels),
                                   kernels);
  for (const int64_t rank : {0, 1, 256}) {
    backend_.kernels["largest"] = [&](std::span<const at::Tensor> t) {
      const at::Tensor order = std::get<1>(t[0].sort(/*stable=*/true, 1, /*descending=*/true));
      at::Tensor(t[1]).copy_(order.select(1, rank));
    };
    const TrialReport report = run(reference, candidate);
    ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_EQ(report.outputs.at(0).int_mismatch == 0, rank < 2) << rank;
  }
}

// The same holds for what is computed from them: the least of a row of sigmoids is an exponential.
TEST_P(ExponentialTrial, SoDoFunctionsOfExponentials) {
  const auto task_of = [](const Json& step) {
    return make_task(
        random_inputs({{kN, kN}}),
        make_program(
            {value_json("float32", {kN, kN}, 0), value_json("float32", {kN, kN}, 1),
             value_json("float32", {kN}, 2)},
            {0}, {step, step_json("aten.amin.default", {{"self", v(1)}, {"dim", {1}}}, {2})}, {2}));
  };
  const Task reference = task_of(step_json("aten.sigmoid.default", {{"self", v(0)}}, {1}));
  std::vector<Kernel> kernels = {make_kernel("least", {"*fp32", "*fp32"}, {1})};
  const Task candidate = make_task(
      random_inputs({{kN, kN}}),
      make_program({value_json("float32", {kN, kN}, 0), value_json("float32", {kN}, 1)}, {0},
                   {step_json("aten.empty.memory_format", {{"size", {kN}}}, {1}),
                    launch_json(0, {v(0), v(1)})},
                   {1}, kernels),
      kernels);
  for (double off : {1.0, 1 + 3e-5}) {
    backend_.kernels["least"] = [off](std::span<const at::Tensor> t) {
      for (int64_t row = 0; row < kN; ++row) {
        float least = INFINITY;
        for (int64_t i = row * kN; i < (row + 1) * kN; ++i) {
          const float exponent = -data(t[0])[i] * static_cast<float>(M_LOG2E * off);
          least = std::min(least, 1 / (1 + std::exp2(exponent)));
        }
        data(t[1])[row] = least;
      }
    };
    const TrialReport report = run(reference, candidate, {.variation = Variation::kScaleUp});
    EXPECT_EQ(within(report.outputs[0]), off == 1)
        << report.outputs[0].candidate_rms << " " << report.outputs[0].reference_rms;
  }
}

// Triton has no tanh. A cell with 2 sigmoid(2x) - 1 in its place takes small results from numbers
// near one, and on blank inputs its biases alone make them.
TEST_P(ExponentialTrial, CellsMayTakeTanhFromNumbersNearOne) {
  constexpr int64_t kWidth = 4;
  const std::vector<std::vector<int64_t>> shapes = {
      {kN, kWidth}, {kN, kWidth}, {kWidth, kWidth}, {kWidth, kWidth}, {kWidth}, {kWidth}};
  const Json inputs = {0, 1, 2, 3, 4, 5};
  Json values = Json::array();
  for (int i = 0; i < 6; ++i) values.push_back(value_json("float32", shapes[i], i));
  values.push_back(value_json("float32", {kN, kWidth}, 6));
  const Json step = step_json("aten.rnn_tanh_cell.default",
                              {{"input", v(0)},
                               {"hx", v(1)},
                               {"w_ih", v(2)},
                               {"w_hh", v(3)},
                               {"b_ih", v(4)},
                               {"b_hh", v(5)}},
                              {6});
  const Task reference =
      make_task(random_inputs(shapes), make_program(values, inputs, {step}, {6}));
  std::vector<Kernel> kernels = {make_kernel("cell", std::vector<std::string>(7, "*fp32"), {6})};
  const Task candidate =
      make_task(random_inputs(shapes),
                make_program(values, inputs,
                             {step_json("aten.empty.memory_format", {{"size", {kN, kWidth}}}, {6}),
                              launch_json(0, {v(0), v(1), v(2), v(3), v(4), v(5), v(6)})},
                             {6}, kernels),
                kernels);
  for (const double off : {1.0, 1 + 1e-4}) {
    backend_.kernels["cell"] = [off](std::span<const at::Tensor> t) {
      const at::Tensor sum = at::linear(t[0], t[2], t[4]) + at::linear(t[1], t[3], t[5]);
      at::Tensor(t[6]).copy_(2 * (2 * off * sum).sigmoid() - 1);
    };
    const TrialReport report = run(reference, candidate, {.variation = Variation::kScaleDown});
    ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_EQ(within(report.outputs[0]), off == 1)
        << report.outputs[0].candidate_rms << " " << report.outputs[0].reference_rms;
  }
}

}  // namespace
}  // namespace kw::exec
