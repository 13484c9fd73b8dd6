#include "executor/discrete/index_outputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

// Returns argmax(a @ b, dim) of a product of 6 by 4, followed by a view of it.
Program argmax_program(Json dim, std::vector<int64_t> made, std::vector<int64_t> seen) {
  Json args = {{"self", v(2)}};
  if (!dim.is_null()) args["dim"] = dim;
  return make_program({value_json("float32", {6, 3}, 0), value_json("float32", {3, 4}, 1),
                       value_json("float32", {6, 4}, 2), value_json("int64", made, 3),
                       value_json("int64", seen, 3)},
                      {0, 1},
                      {step_json("aten.mm.default", {{"self", v(0)}, {"mat2", v(1)}}, {2}),
                       step_json("aten.argmax.default", args, {3}),
                       step_json("aten.view.default", {{"self", v(3)}, {"size", seen}}, {4})},
                      {4});
}

TEST(IndexOutputs, AreFoundThroughViews) {
  const auto rows = find_discrete_outputs(argmax_program(1, {6}, {2, 3}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].position, 0u);
  EXPECT_EQ(rows[0].source, 2);
  EXPECT_EQ(rows[0].dim, 1);
  const auto all = find_discrete_outputs(argmax_program(nullptr, {}, {1}));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].dim, std::nullopt);
}

TEST(IndexOutputs, OfSortsAreAlongTheLastDimension) {
  const auto found = find_discrete_outputs(
      make_program({value_json("float32", {6, 4}, 0), value_json("float32", {6, 4}, 1),
                    value_json("int64", {6, 4}, 2)},
                   {0}, {step_json("aten.sort.default", {{"self", v(0)}}, {1, 2})}, {1, 2}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].position, 1u);
  EXPECT_EQ(found[0].dim, -1);
}

TEST(IndexOutputs, AreNotWhatIsCountedOrOverwritten) {
  EXPECT_TRUE(find_discrete_outputs(
                  make_program({value_json("float32", {6, 4}, 0), value_json("int64", {6}, 1)}, {0},
                               {step_json("aten.count_nonzero.dim_IntList",
                                          {{"self", v(0)}, {"dim", {1}}}, {1})},
                               {1}))
                  .empty());
  Json overwrite = step_json("aten.relu_.default", {{"self", v(0)}}, {2}, {0});
  EXPECT_TRUE(
      find_discrete_outputs(
          make_program(
              {value_json("float32", {6, 4}, 0), value_json("int64", {6}, 1),
               value_json("float32", {6, 4}, 0)},
              {0}, {step_json("aten.argmax.default", {{"self", v(0)}, {"dim", 1}}, {1}), overwrite},
              {1}))
          .empty());
}

at::Tensor indices(std::vector<int64_t> numbers) { return at::tensor(numbers, at::kLong); }

// In the first of three rows, elements 1 and 2 are nearer to each other than float32 rounds. In the
// second they are apart, and in the third they are equal.
struct IndexOutputsTest : testing::Test {
  const at::Tensor oracle = at::tensor({1.0, 2.0, 2.0 + 1e-8, 0.0,  //
                                        1.0, 2.0, 2.5, 0.0,         //
                                        1.0, 2.0, 2.0, 0.0},
                                       at::kDouble)
                                .reshape({3, 4});
  const at::Tensor off = at::tensor({0.0, 1e-7, 0.0, 0.0}, at::kDouble).expand({3, 4});
  const at::Tensor reference = (oracle + off).to(at::kFloat);
  const at::Tensor expected = indices({1, 2, 1});

  int64_t wrong(std::vector<int64_t> got) const {
    const DiscreteOutput output{0, 0, 1};
    return wrong_elements(output, discrete_rule(output, reference, oracle), indices(got), expected,
                          expected);
  }
};

TEST_F(IndexOutputsTest, NearTiesMayFallEitherWay) {
  EXPECT_EQ(wrong({1, 2, 1}), 0);
  EXPECT_EQ(wrong({2, 2, 1}), 0);
}

TEST_F(IndexOutputsTest, OthersMayNot) {
  EXPECT_EQ(wrong({0, 2, 1}), 1);
  EXPECT_EQ(wrong({1, 1, 1}), 1);
  EXPECT_EQ(wrong({1, 2, 2}), 1) << "equal elements: PyTorch says which";
  EXPECT_EQ(wrong({4, -1, 1}), 2) << "out of range";
}

// Another run may add up the same numbers in another order, which rounding alone tells apart.
TEST_F(IndexOutputsTest, WhatIsNearInAnotherRunIsNear) {
  const DiscreteOutput output{0, 0, 1};
  const auto wrong_with = [&](double error, std::vector<int64_t> got) {
    DiscreteRule rule = discrete_rule(output, reference, oracle);
    allow_errors_of(output, (oracle + error).to(at::kFloat), rule);
    return wrong_elements(output, rule, indices(std::move(got)), expected, expected);
  };
  EXPECT_EQ(wrong({1, 1, 1}), 1);  // 2.0 for 2.5
  EXPECT_EQ(wrong_with(0, {1, 1, 1}), 1);
  EXPECT_EQ(wrong_with(0.01, {1, 1, 1}), 1);
  EXPECT_EQ(wrong_with(0.04, {1, 1, 1}), 0);  // eight times, for each of the two
  EXPECT_EQ(wrong_with(0.04, {1, 0, 1}), 1);
  for (double nothing : {double{NAN}, double{INFINITY}})
    EXPECT_EQ(wrong_with(nothing, {1, 1, 1}), 1);
}

TEST_F(IndexOutputsTest, EqualElementsThatTheReferenceRoundsApartAreNearTies) {
  const DiscreteOutput output{0, 0, 1};
  at::Tensor rounded = reference.clone();
  rounded[2][2] = 2.0000002f;
  const DiscreteRule rule = discrete_rule(output, rounded, oracle);
  const auto wrong = [&](int64_t got, int64_t theirs) {
    const at::Tensor other = indices({1, 2, theirs});
    return wrong_elements(output, rule, indices({1, 2, got}), other, other);
  };
  EXPECT_EQ(wrong(1, 2), 0);
  EXPECT_EQ(wrong(2, 1), 0);
  EXPECT_EQ(wrong(0, 2), 1);
  EXPECT_EQ(wrong(3, 2), 1);
}

TEST_F(IndexOutputsTest, OfEqualElementsAnyIsRightWherePyTorchPromisesNone) {
  DiscreteOutput output{0, 0, 1};
  output.any_of_equal = true;
  const DiscreteRule rule =
      discrete_rule(output, oracle.to(at::kFloat), oracle.to(at::kFloat).to(at::kDouble));
  EXPECT_EQ(wrong_elements(output, rule, indices({1, 2, 2}), expected, expected), 0);
  EXPECT_EQ(wrong_elements(output, rule, indices({1, 1, 0}), expected, expected), 2);
}

// A mask of -1e9 was added to one element, which is then rounded to 64.
TEST(IndexOutputs, LargeElementsDoNotExcuseSmallOnes) {
  const at::Tensor row = at::tensor({1.0, 2.0, -1e9 + 7, 2.0 + 1e-8}, at::kDouble).reshape({1, 4});
  const at::Tensor off = at::tensor({1e-7, 0.0, 7.0, 1e-7}, at::kDouble).reshape({1, 4});
  const DiscreteOutput output{0, 0, 1};
  const DiscreteRule rule = discrete_rule(output, (row - off).to(at::kFloat), row);
  const auto wrong = [&](int64_t got) {
    return wrong_elements(output, rule, indices({got}), indices({1}), indices({3}));
  };
  EXPECT_EQ(wrong(1), 0);
  EXPECT_EQ(wrong(3), 0);
  EXPECT_EQ(wrong(0), 1);
  EXPECT_EQ(wrong(2), 1);
}

// A device may flush very small exponentials to zero.
TEST(IndexOutputs, ResultsLessThanTheLeastNormalNumberAreNear) {
  const DiscreteOutput output{0, 0, 1};
  const auto wrong = [&](double size, int64_t got) {
    const at::Tensor row =
        at::tensor({-2.0, -1.0, -2.0, -200.0}, at::kDouble).reshape({1, 4}) * size;
    const at::Tensor reference = (row * (1 + 1e-7)).to(at::kFloat);
    return wrong_elements(output, discrete_rule(output, reference, row), indices({got}),
                          indices({1}), indices({1}));
  };
  EXPECT_EQ(wrong(1e-39, 0), 0);
  EXPECT_EQ(wrong(1e-39, 3), 1);
  EXPECT_EQ(wrong(1e-36, 0), 1);
}

TEST_F(IndexOutputsTest, NothingIsNearWhereNothingIsRounded) {
  const DiscreteOutput output{0, 0, 1};
  const at::Tensor exact = oracle.to(at::kFloat);
  const DiscreteRule rule = discrete_rule(output, exact, exact.to(at::kDouble));
  EXPECT_EQ(wrong_elements(output, rule, indices({2, 2, 1}), expected, expected), 1);
}

// Elements 1 and 2 of a sort of four may change places; an element may not come twice.
TEST_F(IndexOutputsTest, OrdersHaveAnIndexInEachPlace) {
  const DiscreteOutput output{0, 0, -1};
  const at::Tensor row = oracle.slice(0, 0, 1), rounded = reference.slice(0, 0, 1);
  const DiscreteRule rule = discrete_rule(output, rounded, row);
  const at::Tensor order = indices({3, 0, 1, 2}).reshape({1, 4});
  const auto got = [&](std::vector<int64_t> numbers) {
    return wrong_elements(output, rule, indices(numbers).reshape({1, 4}), order, order);
  };
  EXPECT_EQ(got({3, 0, 1, 2}), 0);
  EXPECT_EQ(got({3, 0, 2, 1}), 0);
  EXPECT_EQ(got({0, 3, 1, 2}), 2);
  EXPECT_EQ(got({3, 0, 2, 2}), 1);
}

}  // namespace
}  // namespace kw::exec
