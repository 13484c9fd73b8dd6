// Tests that tasks are tried on other whole numbers, and only on those that they take.
#include "executor/replay/whole_inputs.h"

#include <gtest/gtest.h>

#include "executor/aten/operators.h"
#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

constexpr int64_t kSequences = 8, kWidth = 16;

Json whole(const std::vector<int64_t>& shape, int storage) {
  return value_json("int64", shape, storage);
}

Json int64_dtype() { return {{"dtype", "int64"}}; }

// Inputs: lengths that are all the width, and a mask that is made of them. Forward: the mask's sum.
Task of_lengths() {
  const Program inputs = make_program(
      {whole({kSequences, 1}, 0), whole({kWidth}, 1), value_json("bool", {kSequences, kWidth}, 2)},
      {},
      {step_json("aten.full.default",
                 {{"size", {kSequences, 1}}, {"fill_value", kWidth}, {"dtype", int64_dtype()}},
                 {0}),
       step_json("aten.arange.default", {{"end", kWidth}, {"dtype", int64_dtype()}}, {1}),
       step_json("aten.lt.Tensor", {{"self", v(1)}, {"other", v(0)}}, {2})},
      {0, 2});
  const Program forward = make_program(
      {whole({kSequences, 1}, 0), value_json("bool", {kSequences, kWidth}, 1),
       whole({kSequences}, 2)},
      {0, 1}, {step_json("aten.sum.dim_IntList", {{"self", v(1)}, {"dim", {1}}}, {2})}, {2});
  return make_task(inputs, forward);
}

// Inputs: numbers, and positions in order. Forward: the numbers at the positions, and whether the
// positions are -1.
Task of_positions() {
  const auto values = [] {
    return Json::array({value_json("float32", {kWidth}, 0), whole({kWidth}, 1)});
  };
  const Program inputs = make_program(
      values(), {},
      {step_json("aten.randn.default", {{"size", {kWidth}}}, {0}),
       step_json("aten.arange.default", {{"end", kWidth}, {"dtype", int64_dtype()}}, {1})},
      {0, 1});
  Json more = values();
  more.push_back(value_json("float32", {kWidth}, 2));
  more.push_back(value_json("bool", {kWidth}, 3));
  const Program forward = make_program(
      more, {0, 1},
      {step_json("aten.index_select.default", {{"self", v(0)}, {"dim", 0}, {"index", v(1)}}, {2}),
       step_json("aten.eq.Scalar", {{"self", v(1)}, {"other", -1}}, {3})},
      {2, 3});
  return make_task(inputs, forward);
}

class WholeInputsTest : public testing::Test {
 protected:
  std::vector<at::Tensor> draw(const Task& task, Variation variation, uint64_t seed) {
    SourcedReplay sourced(task, nullptr, at::kCPU);
    CpuReference on_cpu(task);
    WholeInputs inputs(task, sourced, on_cpu);
    return inputs.draw({}, {}, seed, variation);
  }
};

TEST_F(WholeInputsTest, WhatIsMadeOfThemFollows) {
  const Task task = of_lengths();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto inputs = draw(task, Variation::kOther, seed);
    EXPECT_FALSE(inputs[0].eq(kWidth).all().item<bool>());
    // The range may be in another order, but it has each number once.
    EXPECT_TRUE(at::equal(inputs[1].sum(1, true), inputs[0]));
  }
}

TEST_F(WholeInputsTest, EqualSeedsGiveEqualInputs) {
  const Task task = of_positions();
  SourcedReplay sourced(task, nullptr, at::kCPU);
  CpuReference on_cpu(task);
  WholeInputs inputs(task, sourced, on_cpu);
  const auto first = inputs.draw({}, {}, 7, Variation::kShuffled);
  const auto other = inputs.draw({}, {}, 8, Variation::kShuffled);
  const auto again = inputs.draw({}, {}, 7, Variation::kShuffled);
  const auto elsewhere = draw(task, Variation::kShuffled, 7);
  EXPECT_TRUE(at::equal(first[1], again[1]) && at::equal(first[0], again[0]));
  EXPECT_TRUE(at::equal(first[1], elsewhere[1]));
  EXPECT_FALSE(at::equal(first[1], other[1]));
  EXPECT_FALSE(at::equal(first[1], at::arange(kWidth)));
}

TEST_F(WholeInputsTest, ATaskIsNotTriedOnWhatItDoesNotTake) {
  // -1 is named, but it is no index.
  EXPECT_THROW(draw(of_positions(), Variation::kNamed, 1), ReplayError);
  EXPECT_THROW(draw(of_positions(), Variation::kEnds, 1), ReplayError);  // nothing is drawn
}

}  // namespace
}  // namespace kw::exec
