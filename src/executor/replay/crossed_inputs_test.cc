// Tests that draws are scaled until they cross a threshold, and no further than that takes.
#include "executor/replay/crossed_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "executor/aten/operators.h"
#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

constexpr int64_t kCount = 512;

// Forward: a clamp of `of(x)` at `limit`; `of` is an operator of one operand.
Task clamped(const std::string& of, double limit) {
  return make_task(
      random_inputs({{kCount}}),
      make_program({value_json("float32", {kCount}, 0), value_json("float32", {kCount}, 1),
                    value_json("float32", {kCount}, 2)},
                   {0},
                   {step_json(of, {{"self", v(0)}}, {1}),
                    step_json("aten.clamp.default", {{"self", v(1)}, {"max", limit}}, {2})},
                   {2}));
}

Scaling found(const Task& task, const std::vector<at::Tensor>& inputs, size_t threshold = 0) {
  CrossedInputs crossed(task);
  return crossed.scaling(threshold, {}, inputs, 1);
}

TEST(CrossedInputs, SomeElementsLieOnEitherSide) {
  const at::Tensor x = at::randn({kCount});
  const at::Tensor before = x.clone();
  const Scaling scaling = found(clamped("aten.neg.default", 1000), {x});
  EXPECT_TRUE(at::equal(x, before)) << "a search changes nothing";
  scale(scaling, {}, {x});
  const auto beyond = x.neg().gt(1000).sum().item<int64_t>();
  EXPECT_GE(beyond, kCount / 64);
  EXPECT_LT(beyond, kCount / 2);
}

TEST(CrossedInputs, OneSignMayBeTheWrongOne) {
  const at::Tensor x = at::rand({kCount});  // all are positive, so all of -x are below
  scale(found(clamped("aten.neg.default", 7), {x}), {}, {x});
  EXPECT_GE(x.neg().gt(7).sum().item<int64_t>(), kCount / 64);
}

TEST(CrossedInputs, WhatADrawCrossesIsLeft) {
  EXPECT_THROW(found(clamped("aten.neg.default", 0.5), {at::randn({kCount})}), ReplayError);
}

TEST(CrossedInputs, WhatNoNumberReachesIsLeft) {
  EXPECT_THROW(found(clamped("aten.sigmoid.default", 2), {at::randn({kCount})}), ReplayError);
  EXPECT_THROW(found(clamped("aten.neg.default", 5), {at::randn({kCount})}, 1), ReplayError);
}

// Forward: `of(x)`, then an operator of that and of `limits`, a constant with an element each.
Task limited(const std::string& of, const std::vector<double>& limits) {
  const auto count = static_cast<int64_t>(limits.size());
  const Json constant =
      step_json("kernelwright.constant.default",
                {{"data", limits}, {"shape", {count}}, {"dtype", {{"dtype", "float32"}}}}, {1});
  return make_task(
      random_inputs({{kCount, count}}),
      make_program(
          {value_json("float32", {kCount, count}, 0), value_json("float32", {count}, 1),
           value_json("float32", {kCount, count}, 2), value_json("float32", {kCount, count}, 3)},
          {0},
          {constant, step_json(of, {{"self", v(0)}}, {2}),
           step_json("aten.maximum.default", {{"self", v(2)}, {"other", v(1)}}, {3})},
          {3}));
}

TEST(CrossedInputs, AThresholdMayHaveANumberForEachColumn) {
  const at::Tensor x = at::randn({kCount, 2});
  scale(found(limited("aten.neg.default", {-600, -500}), {x}), {}, {x});
  EXPECT_GE(x.neg().lt(at::tensor({-600.0, -500.0})).sum().item<int64_t>(), kCount * 2 / 64);
}

TEST(CrossedInputs, AThresholdMayLieBelowAllDraws) {
  const at::Tensor x = at::randn({kCount, 1});
  scale(found(limited("aten.abs.default", {1e-9}), {x}), {}, {x});
  EXPECT_GE(x.abs().lt(1e-9).sum().item<int64_t>(), kCount / 64);
  EXPECT_LT(x.abs().lt(1e-9).sum().item<int64_t>(), kCount / 2);
}

// Forward: clamps at 0.1 (which draws cross) and at the limits of five copies of x.
TEST(CrossedInputs, ThresholdsThatDrawsCrossAreNotCounted) {
  Json values = Json::array({value_json("float32", {kCount}, 0)}), steps = Json::array();
  const auto clamp = [&](double limit) {
    const int result = static_cast<int>(values.size());
    values.push_back(value_json("float32", {kCount}, result));
    steps.push_back(
        step_json("aten.clamp_max.default", {{"self", v(0)}, {"max", limit}}, {result}));
  };
  const std::vector<double> limits = {0.1, 50, 200, 800, 3200, 12800};
  for (const double limit : limits) clamp(limit);
  const int last = static_cast<int>(values.size()) - 1;
  const Task task = make_task(random_inputs({{kCount}}), make_program(values, {0}, steps, {last}));
  const at::Tensor x = at::randn({kCount});
  std::set<double> factors;
  CrossedInputs crossed(task);
  for (size_t i = 0; i < 5; ++i) factors.insert(crossed.scaling(i, {}, {x}, 3).inputs.at(0));
  EXPECT_EQ(factors.size(), 5u);
  EXPECT_EQ(crossed.scaling(5, {}, {x}, 3).inputs.at(0), *factors.rbegin()) << "all at once";
  EXPECT_THROW(crossed.scaling(6, {}, {x}, 3), ReplayError);
  EXPECT_THROW(crossed.expect(6, 3), ReplayError);
  // Which is the first depends on the seed, so that over many seeds all are tried.
  std::set<double> firsts;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    firsts.insert(crossed.scaling(0, {}, {x}, seed).inputs.at(0));
  }
  EXPECT_EQ(firsts, factors);
}

TEST(CrossedInputs, ThresholdsOfSeveralInputsAreCrossedAtOnce) {
  const auto greater = [](int operand, double limit, int result) {
    return step_json("aten.gt.Scalar", {{"self", v(operand)}, {"other", limit}}, {result});
  };
  const Task task = make_task(
      random_inputs({{kCount}, {kCount}}),
      make_program({value_json("float32", {kCount}, 0), value_json("float32", {kCount}, 1),
                    value_json("bool", {kCount}, 2), value_json("bool", {kCount}, 3)},
                   {0, 1}, {greater(0, 70, 2), greater(1, -700, 3)}, {2, 3}));
  const at::Tensor x = at::randn({kCount}), y = at::randn({kCount});
  CrossedInputs crossed(task);
  scale(crossed.scaling(2, {}, {x, y}, 4), {}, {x, y});
  EXPECT_GE(x.gt(70).logical_and(y.lt(-700)).sum().item<int64_t>(), 1);
}

TEST(CrossedInputs, AThresholdMayLieShortOfInfinity) {
  // x * x > 2e4 in half precision: by 64 a square is infinite, by 16 none is beyond.
  Task task = clamped("aten.square.default", 2e4);
  for (Program* program : {&task.forward, &task.inputs}) {
    for (Value& value : program->values) value.dtype = DType::kFloat16;
  }
  const at::Tensor x = at::randn({kCount}).to(at::kHalf);
  x[0] = 4.5;
  CrossedInputs crossed(task);
  const double factor = std::abs(crossed.scaling(0, {}, {x}, 1).inputs.at(0));
  EXPECT_GT(4.5 * 4.5 * factor * factor, 2e4);
  EXPECT_LT(4.5 * 4.5 * factor * factor, 65504);
}

TEST(CrossedInputs, AnOperandIsLookedAtBeforeItIsOverwritten) {
  // y = -x; y.clamp_(max=0.5); y.clamp_(max=40)
  const auto in_place = [](double limit, int result) {
    return step_json("aten.clamp_max_.default", {{"self", v(1)}, {"max", limit}}, {result}, {1});
  };
  const Task task = make_task(
      random_inputs({{kCount}}),
      make_program(
          {value_json("float32", {kCount}, 0), value_json("float32", {kCount}, 1),
           value_json("float32", {kCount}, 1), value_json("float32", {kCount}, 1)},
          {0},
          {step_json("aten.neg.default", {{"self", v(0)}}, {1}), in_place(0.5, 2), in_place(40, 3)},
          {3}));
  const at::Tensor x = at::randn({kCount});
  CrossedInputs crossed(task);
  // The draws cross the first, and behind it nothing is above the second.
  EXPECT_THROW(crossed.scaling(0, {}, {x}, 1), ReplayError);
  EXPECT_THROW(crossed.scaling(1, {}, {x}, 1), ReplayError);
}

TEST(CrossedInputs, AParameterIsScaledWhereItAloneCounts) {
  Task task = clamped("aten.neg.default", 100);  // for its inputs
  task.forward =
      make_program({value_json("float32", {}, 0), value_json("float32", {kCount}, 1),
                    value_json("float32", {}, 2), value_json("float32", {}, 3),
                    value_json("float32", {kCount}, 4)},
                   {0, 1},
                   {step_json("aten.exp.default", {{"self", v(0)}}, {2}),
                    step_json("aten.clamp.default", {{"self", v(2)}, {"max", 100}}, {3}),
                    step_json("aten.mul.Tensor", {{"self", v(1)}, {"other", v(3)}}, {4})},
                   {4});
  task.state.push_back({{"logit_scale"}, "parameter"});
  task.init = random_inputs({std::vector<int64_t>{}});
  task.derive = make_program({value_json("float32", {}, 0)}, {0}, Json::array(), {});
  const at::Tensor logit = at::full({}, 2.6592), x = at::randn({kCount});  // ln(1 / 0.07)
  CrossedInputs crossed(task);
  const Scaling scaling = crossed.scaling(0, {logit}, {x}, 1);
  EXPECT_TRUE(scaling.inputs.empty());
  scale(scaling, {logit}, {x});
  EXPECT_GT(logit.exp().item<double>(), 100);
}

}  // namespace
}  // namespace kw::exec
