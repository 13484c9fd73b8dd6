#include "verify/numerics/domain.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Value value(DType dtype, int storage) { return {dtype, {8}, {1}, 0, storage}; }
Arg ref(ValueId id) { return Arg{ValueRef{id}}; }
AtenCall call(const char* op, std::map<std::string, Arg> args, std::vector<ValueId> results,
              std::vector<ValueId> mutated = {}) {
  return {op, std::move(args), std::move(results), std::move(mutated)};
}

Program program(std::vector<DType> dtypes, std::vector<ValueId> inputs, std::vector<Step> steps,
                std::vector<ValueId> outputs) {
  Program out;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    out.values.push_back(value(dtypes[i], static_cast<int>(i)));
  }
  out.inputs = std::move(inputs);
  out.steps = std::move(steps);
  out.outputs = std::move(outputs);
  return out;
}

constexpr DType kF = DType::kFloat32, kI = DType::kInt64, kB = DType::kBool;

TEST(Domain, NormalNumbersAreAroundZeroAndOthersAreNot) {
  Task task;
  const auto draws = [&](std::vector<Step> steps, ValueId output) {
    task.inputs = program({kF, kF}, {}, std::move(steps), {output});
    return is_drawn_around_zero(task);
  };
  const AtenCall randn = call("aten.randn.default", {}, {0});
  EXPECT_TRUE(draws({randn}, 0));
  EXPECT_TRUE(
      draws({randn, call("aten.mul.Tensor", {{"self", ref(0)}, {"other", Arg{0.1}}}, {1})}, 1));
  EXPECT_FALSE(draws({randn, call("aten.abs.default", {{"self", ref(0)}}, {1})}, 1));
  EXPECT_FALSE(
      draws({randn, call("aten.mul.Tensor", {{"self", ref(0)}, {"other", ref(0)}}, {1})}, 1))
      << "squares";
  EXPECT_FALSE(draws({randn, call("aten.abs_.default", {{"self", ref(0)}}, {1}, {0})}, 0));
  EXPECT_FALSE(draws({call("aten.rand.default", {}, {0})}, 0));
}

TEST(Domain, WhatHangsOnAChoiceIsMarked) {
  Task task;
  task.forward =
      program({kF, kF, kI, kF, kF}, {0},
              {call("aten.sort.default", {{"self", ref(0)}}, {1, 2}),
               call("aten.gather.default",
                    {{"self", ref(0)}, {"dim", Arg{int64_t{0}}}, {"index", ref(2)}}, {3}),
               call("aten.exp.default", {{"self", ref(0)}}, {4})},
              {1, 2, 3, 4});
  EXPECT_EQ(outputs_by_index(task), (std::set<size_t>{1, 2}));
  // Written in place, it may be anywhere.
  task.forward.steps.emplace_back(
      call("aten.copy_.default", {{"self", ref(0)}, {"src", ref(3)}}, {0}, {0}));
  EXPECT_EQ(outputs_by_index(task).size(), 4u);
}

TEST(Domain, FiniteOrNotIsAskedByNameOrByComparison) {
  Task task;
  const auto asks = [&](AtenCall made) {
    task.forward = program({kF, kB}, {0}, {std::move(made)}, {1});
    return asks_what_is_finite(task);
  };
  EXPECT_TRUE(asks(call("aten.isnan.default", {{"self", ref(0)}}, {1})));
  EXPECT_TRUE(asks(call("aten.ne.Scalar", {{"self", ref(0)}, {"other", Arg{INFINITY}}}, {1})));
  EXPECT_FALSE(asks(call("aten.ne.Scalar", {{"self", ref(0)}, {"other", Arg{1.0}}}, {1})));
  EXPECT_TRUE(asks(call("aten.ne.Tensor", {{"self", ref(0)}, {"other", ref(0)}}, {1})));
  EXPECT_FALSE(asks(call("aten.exp.default", {{"self", ref(0)}}, {1})));
}

TEST(Domain, ExponentialsAreFoundInWhatIsSpelledWithThem) {
  Task task;
  const auto has = [&](const char* op) {
    task.forward = program({kF, kF}, {0}, {call(op, {{"self", ref(0)}}, {1})}, {1});
    return has_exponentials(task);
  };
  EXPECT_TRUE(has("aten.exp.default"));
  EXPECT_TRUE(has("aten.tanh.default"));
  EXPECT_TRUE(has("aten.silu.default"));
  EXPECT_TRUE(has("aten.softplus.default"));
  EXPECT_TRUE(has("aten.gelu.default")) << "by way of tanh";
  EXPECT_FALSE(has("aten.relu.default"));
}

TEST(Domain, RootsAreFoundInWhatIsSpelledWithThem) {
  Task task;
  const auto has = [&](const char* op) {
    task.forward = program({kF, kF}, {0}, {call(op, {{"self", ref(0)}}, {1})}, {1});
    return takes_roots(task);
  };
  EXPECT_TRUE(has("aten.rsqrt.default"));
  EXPECT_TRUE(has("aten.std.correction"));
  EXPECT_TRUE(has("aten.layer_norm.default"));
  EXPECT_FALSE(has("aten.mean.dim"));
  EXPECT_FALSE(has("aten._softmax.default"));
}

// y = x / m, a table at the number that x is as an integer, and that number.
TEST(Domain, WhatHangsOnConversionsIsMarked) {
  Task task;
  const AtenCall quotient = call("aten.div.Tensor", {{"self", ref(0)}, {"other", ref(0)}}, {1});
  const AtenCall converted = call("aten._to_copy.default", {{"self", ref(1)}}, {2});
  task.forward = program({kF, kF, kI, kF}, {0}, {quotient, converted}, {1, 2});
  EXPECT_EQ(outputs_by_conversion(task), (std::set<size_t>{1}));
  task.forward.steps.emplace_back(
      call("aten.mul.Tensor", {{"self", ref(1)}, {"other", ref(2)}}, {3}));
  task.forward.outputs = {0, 1, 2, 3};
  EXPECT_EQ(outputs_by_conversion(task), (std::set<size_t>{2, 3}));
  task.forward.steps.back() =
      call("aten.index_select.default",
           {{"self", ref(1)}, {"dim", Arg{int64_t{0}}}, {"index", ref(2)}}, {3});
  EXPECT_EQ(outputs_by_conversion(task).size(), 4u) << "it may be out of bounds";
}

TEST(Domain, StateThatACallChangesIsFound) {
  Task task;
  task.state = {{{"count"}, "buffer"}};
  task.forward = program({kF, kF}, {0, 1}, {}, {1});
  EXPECT_FALSE(updates_state(task));
  task.forward.steps.emplace_back(
      call("aten.add_.Tensor", {{"self", ref(1)}, {"other", Arg{1.0}}}, {1}, {1}));
  EXPECT_FALSE(updates_state(task)) << "an input";
  task.forward.steps.emplace_back(
      call("aten.add_.Tensor", {{"self", ref(0)}, {"other", Arg{1.0}}}, {0}, {0}));
  EXPECT_TRUE(updates_state(task));
}

}  // namespace
}  // namespace kw
