#include "executor/replay/replay.h"

#include <gtest/gtest.h>

#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

class ReplayTest : public testing::Test {
 protected:
  std::vector<at::Tensor> run(const Program& program, std::vector<at::Tensor> inputs,
                              const ReplayOptions& options = {}) {
    set_ = backend_.load(kernels_);
    Replay replay(program, kernels_, set_.get(), at::kCPU);
    auto outputs = replay.run(std::move(inputs), options);
    relaid_ = replay.relaid_steps();
    return outputs;
  }
  std::string error(const Program& program, std::vector<at::Tensor> inputs) {
    try {
      run(program, std::move(inputs));
    } catch (const ReplayError& e) {
      return e.what();
    }
    return "";
  }
  c10::InferenceMode inference_;
  FakeBackend backend_;
  std::vector<Kernel> kernels_;
  std::unique_ptr<KernelSet> set_;
  std::set<int> relaid_;
};

// Returns y = relu(x W^T) + 1, in which a buffer is updated in place.
Program linear_relu() {
  return make_program({value_json("float32", {4, 8}, 0), value_json("float32", {3, 8}, 1),
                       value_json("float32", {4, 3}, 2), value_json("float32", {4, 3}, 2),
                       value_json("float32", {4, 3}, 3)},
                      {0, 1},
                      {step_json("aten.linear.default", {{"input", v(0)}, {"weight", v(1)}}, {2}),
                       step_json("aten.relu_.default", {{"self", v(2)}}, {3}, {2}),
                       step_json("aten.add.Tensor", {{"self", v(3)}, {"other", 1}}, {4})},
                      {4});
}

TEST_F(ReplayTest, ComputesWhatTheOperatorsCompute) {
  const at::Tensor x = at::randn({4, 8}), w = at::randn({3, 8});
  const at::Tensor expected = at::linear(x, w).relu() + 1;
  EXPECT_TRUE(at::equal(run(linear_relu(), {x, w})[0], expected));
  EXPECT_TRUE(at::equal(run(linear_relu(), {x, w}, ReplayOptions::timed())[0], expected));
}

// The program was recorded for CUDA, where log_sigmoid needs no buffer. On the CPU the buffer has
// the input's shape.
TEST_F(ReplayTest, ResultsThatNobodyUsesMayBeOtherThanRecorded) {
  const auto program = [](std::vector<int> outputs) {
    return make_program({value_json("float32", {4, 8}, 0), value_json("float32", {4, 8}, 1),
                         value_json("float32", {0}, 2)},
                        {0},
                        {step_json("aten.log_sigmoid_forward.default", {{"self", v(0)}}, {1, 2})},
                        std::move(outputs));
  };
  const at::Tensor x = at::randn({4, 8});
  EXPECT_TRUE(at::equal(run(program({1}), {x})[0], at::log_sigmoid(x)));
  EXPECT_NE(error(program({1, 2}), {x}), "");
}

TEST_F(ReplayTest, RunsAgainAndAgain) {
  Replay replay(linear_relu(), {}, nullptr, at::kCPU);
  for (int i = 0; i < 3; ++i) {
    const at::Tensor x = at::randn({4, 8}), w = at::randn({3, 8});
    EXPECT_TRUE(at::equal(replay.run({x, w}, {})[0], at::linear(x, w).relu() + 1));
  }
}

TEST_F(ReplayTest, ValuesAreFreedAfterTheirLastUse) {
  at::Tensor x = at::randn({4, 8}), w = at::randn({3, 8});
  Replay replay(linear_relu(), {}, nullptr, at::kCPU);
  const auto outputs = replay.run({x, w}, {});
  EXPECT_EQ(x.use_count(), 1u);
  EXPECT_EQ(outputs[0].storage().use_count(), 1u);
}

TEST_F(ReplayTest, ResultsMustBeAsRecorded) {
  const auto relu = [](Json value, Json self) {
    return make_program({value_json("float32", {4}, 0), std::move(value)}, {0},
                        {step_json("aten.relu.default", {{"self", std::move(self)}}, {1})}, {1});
  };
  const at::Tensor x = at::randn({4});
  EXPECT_EQ(error(relu(value_json("float32", {4}, 1), v(0)), {x}), "");
  EXPECT_NE(error(relu(value_json("float32", {2, 2}, 1), v(0)), {x}).find("step 0 (aten.relu"),
            std::string::npos);
  EXPECT_NE(error(relu(value_json("float16", {4}, 1), v(0)), {x}).find("float16"),
            std::string::npos);
  EXPECT_NE(error(relu(value_json("float32", {4}, 0), v(0)), {x}).find("alias"), std::string::npos);
  EXPECT_NE(error(relu(value_json("float32", {4}, 1), v(0)), {at::randn({5})}).find("shape"),
            std::string::npos);
  EXPECT_NE(error(relu(value_json("float32", {4}, 1), v(0)), {}).find("takes 1 inputs"),
            std::string::npos);
}

TEST_F(ReplayTest, AFailedStepIsNamed) {
  const Program bad =
      make_program({value_json("float32", {4, 8}, 0), value_json("float32", {4, 4}, 1)}, {0},
                   {step_json("aten.mm.default", {{"self", v(0)}, {"mat2", v(0)}}, {1})}, {1});
  EXPECT_NE(error(bad, {at::randn({4, 8})}).find("step 0 (aten.mm.default)"), std::string::npos);
}

// A tensor that is fresh in the record is fresh, even if PyTorch returned its argument.
TEST_F(ReplayTest, HiddenAliasesAreCopied) {
  const Program program = make_program(
      {value_json("float32", {4}, 0), value_json("float32", {4}, 1), value_json("float32", {4}, 1)},
      {0},
      {step_json("aten.contiguous.default", {{"self", v(0)}}, {1}),
       step_json("aten.zero_.default", {{"self", v(1)}}, {2}, {1})},
      {0, 2});
  for (bool checked : {true, false}) {
    kernels_.clear();
    set_ = backend_.load(kernels_);
    Replay replay(program, kernels_, set_.get(), at::kCPU);
    const at::Tensor x = at::ones({4});
    replay.run({x}, {});
    const auto outputs = replay.run({x}, checked ? ReplayOptions() : ReplayOptions::timed());
    EXPECT_EQ(outputs[0].sum().item<double>(), 4);
    EXPECT_EQ(outputs[1].sum().item<double>(), 0);
    EXPECT_EQ(replay.relaid_steps(), std::set<int>{0});
  }
}

// A launch gets the recorded strides, even if PyTorch chose another layout here.
TEST_F(ReplayTest, LayoutsThatALaunchReliesOnAreRestored) {
  kernels_ = {make_kernel("see", {"*fp32"}, {0})};
  std::vector<int64_t> seen;
  backend_.kernels["see"] = [&](std::span<const at::Tensor> t) { seen = t[0].strides().vec(); };
  Json transposed = value_json("float32", {2, 3}, 1);
  transposed["strides"] = {1, 2};
  const Program program =
      make_program({value_json("float32", {2, 3}, 0), transposed}, {0},
                   {step_json("aten.neg.default", {{"self", v(0)}}, {1}), launch_json(0, {v(1)})},
                   {1}, kernels_);
  const at::Tensor x = at::randn({2, 3});
  EXPECT_TRUE(at::equal(run(program, {x})[0], -x));
  EXPECT_EQ(seen, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(relaid_, std::set<int>{0});
}

TEST_F(ReplayTest, LaunchesRunUnlessSkipped) {
  kernels_ = {make_kernel("fill", {"*fp32", "i32"}, {0})};
  backend_.kernels["fill"] = [](std::span<const at::Tensor> t) { at::Tensor(t[0]).fill_(7); };
  const Program program =
      make_program({value_json("float32", {4}, 0), value_json("float32", {4}, 1)}, {},
                   {step_json("aten.empty.memory_format", {{"size", {4}}}, {0}),
                    step_json("aten.empty.memory_format", {{"size", {4}}}, {1}),
                    launch_json(0, {v(0), 1}), launch_json(0, {v(1), 2})},
                   {0, 1}, kernels_);
  const auto is_seven = [](const at::Tensor& t) { return t.eq(7).all().item<bool>(); };
  Guards guards(at::kCPU);
  const auto without = [&](const Ablation& ablation) {
    return run(program, {}, ReplayOptions::candidate(guards, Unwritten::kPoison, ablation));
  };
  auto outputs = without({});
  EXPECT_TRUE(is_seven(outputs[0]) && is_seven(outputs[1]));
  EXPECT_EQ(backend_.launches, 2);
  outputs = without({.launch = 2});
  EXPECT_TRUE(outputs[0].isnan().all().item<bool>() && is_seven(outputs[1]));
  outputs = without({.all_launches = true});
  EXPECT_TRUE(outputs[0].isnan().all().item<bool>() && outputs[1].isnan().all().item<bool>());
}

TEST_F(ReplayTest, UnwrittenMemoryShows) {
  const Program program = make_program(
      {value_json("float32", {4}, 0), value_json("int64", {4}, 1), value_json("int64", {4}, 2)}, {},
      {step_json("aten.empty.memory_format", {{"size", {4}}}, {0}),
       step_json("aten.empty.memory_format", {{"size", {4}}, {"dtype", {{"dtype", "int64"}}}}, {1}),
       step_json("aten.empty_like.default", {{"self", v(1)}}, {2})},
      {0, 2});
  auto outputs = run(program, {}, ReplayOptions(Unwritten::kZeros));
  EXPECT_EQ(outputs[0].abs().sum().item<double>(), 0);
  outputs = run(program, {}, ReplayOptions(Unwritten::kPoison));
  EXPECT_TRUE(outputs[0].isnan().all().item<bool>());
  EXPECT_GT(outputs[1].min().item<int64_t>(), int64_t{1} << 60);
  Guards guards(at::kCPU);
  outputs = run(program, {}, ReplayOptions::candidate(guards, Unwritten::kPoison));
  EXPECT_TRUE(outputs[0].isnan().all().item<bool>());
  static_cast<float*>(outputs[0].storage().mutable_data())[4] = 1;
  EXPECT_FALSE(guards.intact());
}

TEST_F(ReplayTest, MisalignedPointersAreRefused) {
  kernels_ = {make_kernel("k", {"*fp32"}, {0})};
  kernels_[0].attrs = Json::parse(R"({"0": [["tt.divisibility", 16]]})");
  backend_.kernels["k"] = [](std::span<const at::Tensor>) {};
  Json tail = value_json("float32", {3}, 0);
  tail["offset"] = 1;
  const Program program = make_program(
      {value_json("float32", {4}, 0), tail}, {0},
      {step_json("aten.slice.Tensor", {{"self", v(0)}, {"start", 1}}, {1}), launch_json(0, {v(1)})},
      {0}, kernels_);
  EXPECT_NE(error(program, {at::randn({4})}).find("aligned"), std::string::npos);
}

TEST_F(ReplayTest, MutatedInputsAreFoundThroughViewsAndLaunches) {
  kernels_ = {make_kernel("k", {"*fp32", "*fp32"}, {1})};
  const Program program =
      make_program({value_json("float32", {4}, 0), value_json("float32", {4}, 1),
                    value_json("float32", {4}, 2), value_json("float32", {2, 2}, 0)},
                   {0, 1, 2},
                   {step_json("aten.view.default", {{"self", v(0)}, {"size", {2, 2}}}, {3}),
                    launch_json(0, {v(2), v(3)})},
                   {0}, kernels_);
  EXPECT_EQ(find_mutated_inputs(program, kernels_), (std::vector<bool>{true, false, false}));
}

// Used memory holds finite numbers of both signs, for any size, type and layout.
TEST_F(ReplayTest, UsedMemoryHoldsNumbersEverywhere) {
  for (const char* dtype : {"float32", "float16", "float64"}) {
    for (int64_t rows : {1, 1000, 1 << 16, (1 << 17) + 3}) {
      const Program program =
          make_program({value_json(dtype, {rows, 3}, 0)}, {},
                       {step_json("aten.empty.memory_format",
                                  {{"size", {rows, 3}}, {"dtype", {{"dtype", dtype}}}}, {0})},
                       {0});
      const at::Tensor made = run(program, {}, ReplayOptions(Unwritten::kNumbers))[0];
      EXPECT_TRUE(made.isfinite().all().item<bool>()) << dtype << rows;
      EXPECT_GT(made.max().item<double>(), 0.5) << dtype << rows;
      EXPECT_GT(made.abs().mean().item<double>(), 0.1) << dtype << rows;
    }
  }
}

// New memory holds zeros, with guards around it all the same.
TEST_F(ReplayTest, NewMemoryHoldsZeros) {
  const Program program =
      make_program({value_json("float32", {4}, 0), value_json("int64", {4}, 1)}, {},
                   {step_json("aten.empty.memory_format", {{"size", {4}}}, {0}),
                    step_json("aten.empty.memory_format",
                              {{"size", {4}}, {"dtype", {{"dtype", "int64"}}}}, {1})},
                   {0, 1});
  Guards guards(at::kCPU);
  const auto outputs = run(program, {}, ReplayOptions::candidate(guards, Unwritten::kZeros));
  EXPECT_TRUE(outputs[0].eq(0).all().item<bool>());
  EXPECT_TRUE(outputs[1].eq(0).all().item<bool>());
  static_cast<float*>(outputs[0].storage().mutable_data())[4] = 1;
  EXPECT_FALSE(guards.intact());
}

TEST_F(ReplayTest, LargeNumbersAreFiniteInEveryType) {
  for (const char* dtype : {"float32", "float16", "bfloat16"}) {
    const Program program =
        make_program({value_json(dtype, {100}, 0)}, {},
                     {step_json("aten.empty.memory_format",
                                {{"size", {100}}, {"dtype", {{"dtype", dtype}}}}, {0})},
                     {0});
    const at::Tensor made = run(program, {}, ReplayOptions(Unwritten::kLarge))[0];
    EXPECT_TRUE(made.isfinite().all().item<bool>()) << dtype;
    EXPECT_GT(made.max().item<double>(), 1e4) << dtype;
    EXPECT_LT(made.min().item<double>(), -1e4) << dtype;
  }
}

// On a device the operator itself would end the process.
TEST_F(ReplayTest, ProbabilitiesOutsideOfTheirRangeAreRefused) {
  const Program program = make_program(
      {value_json("float32", {4}, 0), value_json("float32", {4}, 1), value_json("float32", {}, 2)},
      {0, 1},
      {step_json("aten.binary_cross_entropy.default", {{"self", v(0)}, {"target", v(1)}}, {2})},
      {2});
  const at::Tensor target = at::zeros({4});
  EXPECT_EQ(error(program, {at::full({4}, 0.5), target}), "");
  for (float bad : {-0.1f, 1.5f, NAN}) {
    EXPECT_NE(error(program, {at::full({4}, bad), target}).find("between 0 and 1"),
              std::string::npos)
        << bad;
  }
}

// Returns round(x * y) if the rounded number is to be computed, otherwise round(x).
Program rounded(bool computed) {
  Json steps = Json::array();
  if (computed) {
    steps.push_back(step_json("aten.mul.Tensor", {{"self", v(0)}, {"other", v(1)}}, {2}));
  }
  steps.push_back(step_json("aten.round.default", {{"self", v(computed ? 2 : 0)}}, {3}));
  Json values;
  for (int i = 0; i < 4; ++i) values.push_back(value_json("float32", {2}, i));
  if (!computed) values.erase(2), steps[0]["results"] = {2};
  return make_program(values, {0, 1}, steps, {computed ? 3 : 2});
}

TEST_F(ReplayTest, KernelsMayRoundNearTiesOfWhatTheyComputeEitherWay) {
  const at::Tensor x = at::tensor({std::nextafter(2.5f, 0.0f), 2.25f}), one = at::ones({2});
  const auto as_kernels = [&](bool computed) {
    return run(rounded(computed), {x, one}, ReplayOptions::ties_flipped())[0];
  };
  EXPECT_TRUE(as_kernels(true).equal(at::tensor({3.0f, 2.0f})));
  EXPECT_TRUE(as_kernels(false).equal(at::tensor({2.0f, 2.0f})));
  EXPECT_TRUE(run(rounded(true), {x, one})[0].equal(at::tensor({2.0f, 2.0f})));
}

// x * y is compared with 1, one unit below it and far from it, and with 0 among small numbers.
TEST_F(ReplayTest, KernelsMayCompareNearTiesOfWhatTheyComputeEitherWay) {
  const auto greater = [&](double than, const at::Tensor& x) {
    Json values = {value_json("float32", {3}, 0), value_json("float32", {3}, 1),
                   value_json("float32", {3}, 2), value_json("bool", {3}, 3)};
    Json steps = {step_json("aten.mul.Tensor", {{"self", v(0)}, {"other", v(1)}}, {2}),
                  step_json("aten.gt.Scalar", {{"self", v(2)}, {"other", than}}, {3})};
    const Program program = make_program(values, {0, 1}, steps, {3});
    return run(program, {x, at::ones({3})}, ReplayOptions::ties_flipped())[0];
  };
  EXPECT_TRUE(greater(1, at::tensor({std::nextafter(1.0f, 0.0f), 0.5f, 2.0f}))
                  .to(at::kInt)
                  .equal(at::tensor({1, 0, 1})));
  EXPECT_TRUE(
      greater(0, at::tensor({-1e-9f, 1e-9f, 2e-9f})).to(at::kInt).equal(at::tensor({0, 1, 1})));
  EXPECT_TRUE(
      greater(0, at::tensor({-1e-16f, 0.0f, 2e-9f})).to(at::kInt).equal(at::tensor({1, 0, 1})));
}

// The usual formula of some operators adds one and subtracts it again. Their small results are off
// by a unit of one, and not by a unit of their own.
TEST_F(ReplayTest, SmallResultsErrByUnitsOfOne) {
  const at::Tensor near_zero = -at::linspace(1e-6, 1e-5, 256), far = -at::linspace(4, 5, 256);
  for (const auto& [op, x] : {std::pair{"aten.tanh.default", near_zero},
                              {"aten.expm1.default", near_zero},
                              {"aten.log1p.default", near_zero},
                              {"aten.elu.default", near_zero},
                              {"aten.selu.default", near_zero},
                              {"aten.celu.default", near_zero},
                              {"aten.gelu.default", far},
                              {"aten.mish.default", far + -10}}) {
    const Program program =
        make_program({value_json("float32", {256}, 0), value_json("float32", {256}, 1)}, {0},
                     {step_json(op, {{"self", v(0)}}, {1})}, {1});
    const at::Tensor plain = run(program, {x})[0];
    const at::Tensor off = (run(program, {x}, ReplayOptions::as_kernels())[0] - plain).abs();
    EXPECT_LT(off.max().item<double>(), 0x1p-21) << op;
    EXPECT_GT(off.max().item<double>(), 0x1p-26) << op;
    EXPECT_GT((off / plain.abs()).max().item<double>(), 1e-4) << op;
  }
}

// The logarithm of a softmax near one is the logarithm of a sum near one. So its largest element is
// off by a unit of one, however small it is. On top of that come the roundings of the sum, of the
// result, and of the result plus one. A plain run may be exact by luck, but perturbed ones are not.
TEST_F(ReplayTest, LogarithmsOfNearlyWholeSharesErrByUnitsOfOne) {
  const Program program =
      make_program({value_json("float32", {256, 2}, 0), value_json("float32", {256, 2}, 1)}, {0},
                   {step_json("aten.log_softmax.int", {{"self", v(0)}, {"dim", 1}}, {1})}, {1});
  at::Tensor x = at::randn({256, 2}) - 14;
  x.select(1, 0).fill_(0);
  const at::Tensor exact = x.to(at::kDouble).log_softmax(1).select(1, 0);
  const auto off = [&](ReplayOptions options) {
    return (run(program, {x}, options)[0].select(1, 0) - exact).abs();
  };
  EXPECT_LT(off({}).min().item<double>(), 0x1p-29);
  for (int32_t dither : {1, 2, 3}) {
    const at::Tensor one = off(ReplayOptions::perturbed(dither, false));
    EXPECT_GT(one.min().item<double>(), 0x1p-23 - 3 * 0x1p-25) << dither;
    EXPECT_LT(one.max().item<double>(), 0x1p-22) << dither;
  }
  // They are not exact either if a share is one less than a unit below one. Functions that are
  // exact at zero stay so.
  x.select(1, 1).fill_(-40);
  EXPECT_EQ(
      run(program, {x}, ReplayOptions::as_kernels())[0].select(1, 0).abs().max().item<float>(), 0);
  const at::Tensor off_whole =
      run(program, {x}, ReplayOptions::perturbed(1, false))[0].select(1, 0);
  EXPECT_GT(off_whole.abs().min().item<double>(), 0x1p-24);
  const Program tanh =
      make_program({value_json("float32", {256, 2}, 0), value_json("float32", {256, 2}, 1)}, {0},
                   {step_json("aten.tanh.default", {{"self", v(0)}}, {1})}, {1});
  const at::Tensor zeros = at::zeros({256, 2});
  EXPECT_EQ(run(tanh, {zeros}, ReplayOptions::perturbed(1, false))[0].abs().max().item<float>(), 0);
}

TEST_F(ReplayTest, WhatIsRightToAUnitIsOffByOne) {
  const at::Tensor x = at::rand({1 << 14}) * 0.8 - 0.9;
  const at::Tensor off = right_to_a_unit(x, 1);
  const at::Tensor units = (off.to(at::kDouble) / x.to(at::kDouble) - 1) / 0x1p-23;
  EXPECT_GT(units.abs().min().item<double>(), 0.49);
  EXPECT_LT(units.abs().max().item<double>(), 1.51);
  EXPECT_LT(std::abs(units.mean().item<double>()), 0.05) << "to either side";
  EXPECT_TRUE(off.equal(right_to_a_unit(x, 1)));
  EXPECT_FALSE(off.equal(right_to_a_unit(x, 2)));
  const at::Tensor whole = at::tensor({0.0f, -1.0f, 3e9f, INFINITY, 7.0f});
  EXPECT_TRUE(right_to_a_unit(whole, 1).equal(whole));
  EXPECT_TRUE(right_to_a_unit(x.to(at::kDouble), 1).equal(x.to(at::kDouble)));
  EXPECT_TRUE(right_to_a_unit(x.to(at::kHalf), 1).equal(x.to(at::kHalf)));
}

// In a perturbed run only rounded results are off. Results that are moved or chosen stay, and
// random numbers are those of any run.
TEST_F(ReplayTest, PerturbedRunsRoundOtherwise) {
  const auto both = [&](const char* op, Json args) {
    const Program program =
        make_program({value_json("float32", {512}, 0), value_json("float32", {512}, 1)}, {0},
                     {step_json(op, std::move(args), {1})}, {1});
    const at::Tensor x = at::randn({512});
    at::manual_seed(3);
    const at::Tensor plain = run(program, {x})[0];
    at::manual_seed(3);
    return std::pair(plain, run(program, {x}, ReplayOptions::perturbed(1, true))[0]);
  };
  for (const auto& [op, args] : {std::pair<const char*, Json>{"aten.cos.default", {{"self", v(0)}}},
                                 {"aten.softmax.int", {{"self", v(0)}, {"dim", 0}}},
                                 {"aten.cumsum.default", {{"self", v(0)}, {"dim", 0}}}}) {
    const auto [plain, off] = both(op, args);
    EXPECT_FALSE(off.equal(plain)) << op;
    // The arguments of a softmax are off too, by a unit of up to four.
    EXPECT_TRUE(at::allclose(off, plain, 8 * 0x1p-23, 0)) << op;
  }
  // Each dither has other signs, although a CPU's generator uses only 32 bits of a seed.
  const Program cosine =
      make_program({value_json("float32", {512}, 0), value_json("float32", {512}, 1)}, {0},
                   {step_json("aten.cos.default", {{"self", v(0)}}, {1})}, {1});
  const at::Tensor x = at::randn({512});
  const auto run_of = [&](int32_t dither) {
    return run(cosine, {x}, ReplayOptions::perturbed(dither, true))[0];
  };
  EXPECT_FALSE(run_of(1).equal(run_of(2)));
  EXPECT_FALSE(run_of(2).equal(run_of(3)));
  EXPECT_TRUE(run_of(3).equal(run_of(3)));
  for (const auto& [op, args] :
       {std::pair<const char*, Json>{"aten.relu.default", {{"self", v(0)}}},
        {"aten.neg.default", {{"self", v(0)}}},
        {"aten.clone.default", {{"self", v(0)}}},
        {"aten.rand_like.default", {{"self", v(0)}}}}) {
    const auto [plain, off] = both(op, args);
    EXPECT_TRUE(off.equal(plain)) << op;
  }
}

// Returns a norm of each kind, of x = (6, 8, 4, 4), with the sizes over which it takes its means.
struct NormCase {
  const char* op;
  Json args;
  int64_t terms;
};
const std::vector<NormCase>& norm_cases() {
  static const std::vector<NormCase> cases = {
      {"aten.layer_norm.default", {{"normalized_shape", {8, 4, 4}}, {"eps", 1e-3}}, 128},
      {"aten.native_layer_norm.default", {{"normalized_shape", {4, 4}}, {"eps", 1e-3}}, 16},
      {"aten.group_norm.default", {{"num_groups", 2}, {"eps", 1e-3}}, 64},
      {"aten.instance_norm.default",
       {{"use_input_stats", true}, {"momentum", 0.1}, {"eps", 1e-3}, {"cudnn_enabled", false}},
       16},
      {"aten.batch_norm.default",
       {{"training", true}, {"momentum", 0.1}, {"eps", 1e-3}, {"cudnn_enabled", false}},
       96}};
  return cases;
}

Program norm_program(const NormCase& norm, const char* dtype = "float32") {
  Json args = norm.args;
  args["input"] = v(0);
  const bool layer = args.contains("normalized_shape");
  const Json parameter = layer ? args["normalized_shape"] : Json({8});
  args["weight"] = v(1), args["bias"] = v(2);
  Json values = {value_json(dtype, {6, 8, 4, 4}, 0), value_json(dtype, parameter, 1),
                 value_json(dtype, parameter, 2), value_json(dtype, {6, 8, 4, 4}, 3)};
  Json results = {3};
  if (std::string(norm.op).starts_with("aten.native")) {
    values.push_back(value_json(dtype, {6, 8, 1, 1}, 4));
    values.push_back(value_json(dtype, {6, 8, 1, 1}, 5));
    results = {3, 4, 5};
  }
  return make_program(values, {0, 1, 2}, {step_json(norm.op, args, results)}, {3});
}

// The mean of these numbers is 200 times their deviation, so an error of the mean shows 200 times.
TEST_F(ReplayTest, MeansOfNormsErrAsKernelsFindThem) {
  for (const NormCase& norm : norm_cases()) {
    const Program program = norm_program(norm);
    const auto sizes = program.values[1].shape;
    const at::Tensor x = (at::randn({6, 8, 4, 4}) + 200).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor weight = at::rand(sizes) + 1, bias = at::randn(sizes);
    const at::Tensor exact =
        run(norm_program(norm, "float64"),
            {x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble)})[0];
    const at::Tensor plain = run(program, {x, weight, bias})[0];
    const at::Tensor emulated = run(program, {x, weight, bias}, ReplayOptions::as_kernels())[0];
    EXPECT_EQ(emulated.strides(), plain.strides()) << norm.op;
    const double off = (emulated - exact).abs().max().item<double>();
    EXPECT_GT(off, 0.5 * 200 * 0x1p-23) << norm.op;
    EXPECT_LT(off, 12 * 200 * 0x1p-23) << norm.op;
  }
}

// PyTorch's own order of additions may find their mean to the last bit; others do not.
TEST_F(ReplayTest, NormsOfEqualNumbersErrByTheirMeans) {
  for (const NormCase& norm : norm_cases()) {
    const Program program = norm_program(norm);
    const auto sizes = program.values[1].shape;
    const at::Tensor x = at::full({6, 8, 4, 4}, -0.6931472f);
    const at::Tensor emulated =
        run(program, {x, at::ones(sizes), at::ones(sizes)}, ReplayOptions::as_kernels())[0];
    const double unit = 0x1p-23 + 1.8e-8 * std::sqrt(static_cast<double>(norm.terms));
    const double off = (emulated - 1).abs().max().item<double>();
    EXPECT_NEAR(off, 0.6931472 * unit / std::sqrt(1e-3), 0x1p-23 * 0.7 / std::sqrt(1e-3))
        << norm.op;
    EXPECT_GT(off, 0) << norm.op;
    // Means are off to either side, because a cut at zero afterwards would hide one of them.
    const auto side = [&](int32_t dither) {
      return run(program, {x, at::ones(sizes), at::zeros(sizes)},
                 ReplayOptions::perturbed(dither, false))[0];
    };
    EXPECT_GT(side(0).min().item<double>(), 0) << norm.op;
    EXPECT_GT(side(2).min().item<double>(), 0) << norm.op;
    EXPECT_LT(side(1).max().item<double>(), 0) << norm.op;
  }
}

// These norms have running statistics, which training overwrites.
Program batch_norm_program(bool training) {
  const Json args = {{"input", v(0)},         {"running_mean", v(1)}, {"running_var", v(2)},
                     {"training", training},  {"momentum", 0.1},      {"eps", 1e-5},
                     {"cudnn_enabled", false}};
  const std::vector<int> mutated = training ? std::vector<int>{1, 2} : std::vector<int>();
  return make_program({value_json("float32", {6, 8, 4, 4}, 0), value_json("float32", {8}, 1),
                       value_json("float32", {8}, 2), value_json("float32", {6, 8, 4, 4}, 3)},
                      {0, 1, 2}, {step_json("aten.batch_norm.default", args, {3}, mutated)}, {3});
}

TEST_F(ReplayTest, OtherNormsAreAsPyTorchComputesThem) {
  const at::Tensor x = at::randn({6, 8, 4, 4}) + 200;
  for (const NormCase& norm : norm_cases()) {
    const Program program = norm_program(norm, "float64");
    const auto sizes = program.values[1].shape;
    const std::vector<at::Tensor> wide = {x.to(at::kDouble), at::ones(sizes, at::kDouble),
                                          at::ones(sizes, at::kDouble)};
    EXPECT_TRUE(run(program, wide, ReplayOptions::as_kernels())[0].equal(run(program, wide)[0]))
        << norm.op;
  }
  // With running statistics there is no mean to find.
  const Program program = batch_norm_program(false);
  const std::vector<at::Tensor> inputs = {x, at::full({8}, 200.0f), at::ones({8})};
  EXPECT_TRUE(run(program, inputs, ReplayOptions::as_kernels())[0].equal(run(program, inputs)[0]));
}

TEST_F(ReplayTest, RunningStatisticsAreOverwrittenOnce) {
  const Program program = batch_norm_program(true);
  const at::Tensor x = at::randn({6, 8, 4, 4});
  const at::Tensor mean = at::zeros({8}), variance = at::ones({8});
  run(program, {x, mean, variance}, ReplayOptions::as_kernels());
  const at::Tensor expected_mean = at::zeros({8}), expected_variance = at::ones({8});
  at::batch_norm(x, {}, {}, expected_mean, expected_variance, true, 0.1, 1e-5, false);
  EXPECT_TRUE(mean.equal(expected_mean));
  EXPECT_TRUE(variance.equal(expected_variance));
}

// A native group norm uses its own sizes, for an input of any shape.
TEST_F(ReplayTest, NativeGroupNormsAreOfTheirOwnSizes) {
  const Program program = make_program(
      {value_json("float32", {16, 8, 10}, 0), value_json("float32", {16, 8, 10}, 1),
       value_json("float32", {8, 4}, 2), value_json("float32", {8, 4}, 3)},
      {0},
      {step_json("aten.native_group_norm.default",
                 {{"input", v(0)}, {"N", 8}, {"C", 16}, {"HxW", 10}, {"group", 4}, {"eps", 1e-5}},
                 {1, 2, 3})},
      {1});
  const at::Tensor x = at::randn({16, 8, 10}) * at::arange(1, 17).view({16, 1, 1});
  const at::Tensor expected =
      at::group_norm(x.to(at::kDouble).view({8, 16, 10}), 4).view({16, 8, 10});
  const at::Tensor got = run(program, {x}, ReplayOptions::as_kernels())[0];
  EXPECT_LT((got - expected).abs().max().item<double>(), 1e-5);
}

// A candidate may record such a step. PyTorch refuses it, and nothing else happens.
TEST_F(ReplayTest, NormsWhoseArgumentsDoNotFitAreRefused) {
  const auto complaint = [&](const char* op, Json args) {
    args["input"] = v(0);
    return error(
        make_program({value_json("float32", {4, 6, 5}, 0), value_json("float32", {4, 6, 5}, 1)},
                     {0}, {step_json(op, args, {1})}, {1}),
        {at::randn({4, 6, 5})});
  };
  for (int groups : {0, -1, 4, 100})
    EXPECT_NE(complaint("aten.group_norm.default", {{"num_groups", groups}}), "") << groups;
  for (const Json& shape : {Json({2, 4, 6, 5}), Json({6}), Json(Json::array())})
    EXPECT_NE(complaint("aten.layer_norm.default", {{"normalized_shape", shape}}), "") << shape;
}

TEST_F(ReplayTest, ARootMeanSquareNormMayHaveNoEpsilon) {
  const Program program = make_program(
      {value_json("float32", {4, 8}, 0), value_json("float32", {4, 8}, 1),
       value_json("float32", {4, 1}, 2)},
      {0},
      {step_json(
          "aten._fused_rms_norm.default",
          {{"input", v(0)}, {"normalized_shape", {8}}, {"weight", nullptr}, {"eps", nullptr}},
          {1, 2})},
      {1});
  const at::Tensor x = at::randn({4, 8});
  EXPECT_LT((run(program, {x})[0] - at::rms_norm(x, {8})).abs().max().item<double>(), 1e-6);
}

// A run overwrites what it does not return, also if it fails. It does not overwrite inputs.
TEST_F(ReplayTest, WhatLiesBetweenStepsIsOverwritten) {
  const at::Tensor x = at::rand({64}) + 1;
  for (const bool fails : {false, true}) {
    at::Tensor between;
    kernels_ = {make_kernel("look", {"*fp32", "*fp32"}, {1})};
    backend_.kernels["look"] = [&](std::span<const at::Tensor> t) {
      between = t[0];
      EXPECT_TRUE(t[0].equal(-x));
      if (fails) throw std::runtime_error("no more");
      at::Tensor(t[1]).copy_(t[0]);
    };
    const Program program =
        make_program({value_json("float32", {64}, 0), value_json("float32", {64}, 1),
                      value_json("float32", {64}, 2)},
                     {0},
                     {step_json("aten.neg.default", {{"self", v(0)}}, {1}),
                      step_json("aten.empty.memory_format", {{"size", {64}}}, {2}),
                      launch_json(0, {v(1), v(2)})},
                     {2}, kernels_);
    const at::Tensor input = x.clone();
    try {
      const auto outputs = run(program, {input}, ReplayOptions::reference());
      EXPECT_TRUE(outputs[0].equal(-x));
    } catch (const ReplayError&) {
      EXPECT_TRUE(fails);
    }
    ASSERT_TRUE(between.defined());
    EXPECT_TRUE(between.isnan().all().item<bool>()) << fails;
    EXPECT_TRUE(input.equal(x));
  }
  kernels_.clear();
}

TEST_F(ReplayTest, WhatAViewStillHoldsIsNotOverwritten) {
  const Program program =
      make_program({value_json("float32", {4, 8}, 0), value_json("float32", {4, 8}, 1),
                    Json{{"dtype", "float32"},
                         {"shape", {8, 4}},
                         {"strides", {1, 8}},
                         {"storage", 1},
                         {"offset", 0}},
                    value_json("float32", {8, 4}, 2)},
                   {0},
                   {step_json("aten.neg.default", {{"self", v(0)}}, {1}),
                    step_json("aten.t.default", {{"self", v(1)}}, {2}),
                    step_json("aten.exp.default", {{"self", v(2)}}, {3})},
                   {3});
  const at::Tensor x = at::randn({4, 8});
  EXPECT_TRUE(run(program, {x}, ReplayOptions::reference())[0].allclose((-x).t().exp()));
}

}  // namespace
}  // namespace kw::exec
