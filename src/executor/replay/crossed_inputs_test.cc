// Tests that draws are scaled until they cross a threshold, and no further than that takes.
#include "executor/replay/crossed_inputs.h"

#include <gtest/gtest.h>

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
