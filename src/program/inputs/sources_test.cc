#include "program/inputs/sources.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

// Programs whose steps make or take one-dimensional tensors.
class InputSteps {
 public:
  ValueId add(const std::string& op, DType dtype, std::map<std::string, Arg> args,
              int64_t count = 8) {
    const auto id = static_cast<ValueId>(program.values.size());
    program.values.push_back({dtype, {count}, {1}, 0, id});
    program.steps.push_back(AtenCall{op, std::move(args), {id}, {}});
    return id;
  }
  ValueId numbers(const std::vector<int64_t>& data) {
    ArgList list;
    for (const int64_t number : data) list.push_back({number});
    return add("kernelwright.constant.default", DType::kInt64, {{"data", {list}}},
               static_cast<int64_t>(data.size()));
  }
  Source last() const { return {static_cast<ValueId>(program.values.size()) - 1, *maker()}; }
  Program program;

 private:
  const AtenCall* maker() const { return &std::get<AtenCall>(program.steps.back()); }
};

TEST(Sources, StepsOfTensorsRunOnWhatTheOthersMade) {
  InputSteps steps;
  const ValueId lengths = steps.add("aten.full.default", DType::kInt64, {});
  const ValueId offsets =
      steps.add("aten.cumsum.default", DType::kInt64, {{"self", {ValueRef{lengths}}}});
  const ValueId x = steps.add("aten.randn.default", DType::kFloat32, {});
  steps.program.outputs = {x, offsets, lengths};
  const SourcedInputs split = split_sources(steps.program);
  ASSERT_EQ(split.sources.size(), 2u);
  EXPECT_EQ(split.sources[0].id, lengths);
  EXPECT_EQ(split.sources[1].maker.op, "aten.randn.default");
  EXPECT_EQ(split.made.outputs, (std::vector<ValueId>{lengths, x}));
  EXPECT_EQ(split.made.steps.size(), 2u);
  EXPECT_EQ(split.rest.inputs, (std::vector<ValueId>{lengths, x}));
  EXPECT_EQ(split.rest.steps.size(), 1u);
  EXPECT_EQ(split.rest.outputs, steps.program.outputs);
}

TEST(Sources, TablesFollowFromTheTextAlone) {
  InputSteps steps;
  const auto of = [&](ValueId id) { return std::map<std::string, Arg>{{"self", {ValueRef{id}}}}; };
  const ValueId range = steps.add("aten.arange.default", DType::kFloat32, {});
  const ValueId sines = steps.add("aten.sin.default", DType::kFloat32, of(range));
  const ValueId x = steps.add("aten.randn.default", DType::kFloat32, {});
  const ValueId scaled = steps.add("aten.exp.default", DType::kFloat32, of(x));
  const ValueId whole = steps.add("aten._to_copy.default", DType::kInt64, of(range));
  const auto given = static_cast<ValueId>(steps.program.values.size());
  steps.program.values.push_back({DType::kFloat32, {8}, {1}, 0, given});  // a parameter
  steps.program.inputs = {given};
  const ValueId of_given = steps.add("aten.exp.default", DType::kFloat32, of(given));
  steps.program.outputs = {range, sines, x, scaled, whole, of_given};
  EXPECT_EQ(are_tables(steps.program),
            (std::vector<bool>{false, true, false, false, false, false}));
}

TEST(Sources, WhatMayChangeDependsOnHowTheyAreMade) {
  using enum SourceChange;
  InputSteps steps;
  const auto fits = [&] {
    std::string out;
    for (const auto& [change, letter] : {std::pair(kEnds, 'e'), std::pair(kNamed, 'n'),
                                         std::pair(kShuffle, 's'), std::pair(kOther, 'o')}) {
      if (applies(change, steps.program, steps.last())) out += letter;
    }
    return out;
  };
  const auto made = [&](const std::string& op, DType dtype, std::map<std::string, Arg> args = {},
                        int64_t count = 8) {
    steps.add(op, dtype, std::move(args), count);
    return fits();
  };
  const auto data = [&](const std::vector<int64_t>& numbers) {
    steps.numbers(numbers);
    return fits();
  };
  EXPECT_EQ(made("aten.randint.low", DType::kInt64), "en");
  EXPECT_EQ(made("aten.randint.low", DType::kInt64, {}, 1), "n");
  EXPECT_EQ(made("aten.randint.low", DType::kInt64, {}, 0), "");
  EXPECT_EQ(made("aten.randint.low", DType::kFloat32), "");
  EXPECT_EQ(made("aten.randperm.default", DType::kInt64), "ns");
  EXPECT_EQ(made("aten.arange.default", DType::kInt64), "ns");
  EXPECT_EQ(made("aten.arange.start_step", DType::kInt64, {{"step", {int64_t{4}}}}), "no")
      << "offsets of rows";
  EXPECT_EQ(made("aten.full.default", DType::kInt32), "no");
  EXPECT_EQ(made("aten.ones.default", DType::kBool), "o");
  EXPECT_EQ(made("aten.ones.default", DType::kBool, {}, 1), "o");
  EXPECT_EQ(made("aten.full.default", DType::kFloat32), "");
  EXPECT_EQ(data({5, 9, 3}), "nso");
  EXPECT_EQ(data({5, -1, 3}), "ns") << "a sentinel";
  EXPECT_EQ(data({0, 5, 9, 12}), "no") << "offsets";
  EXPECT_EQ(data({7, 7}), "no");
}

TEST(Sources, NumbersAreNamedByComparisonsAndLosses) {
  InputSteps steps;
  const ValueId x = steps.add("aten.randint.low", DType::kInt64, {});
  steps.add("aten.ne.Scalar", DType::kBool, {{"self", {ValueRef{x}}}, {"other", {int64_t{-1}}}});
  steps.add("aten.add.Scalar", DType::kInt64, {{"self", {ValueRef{x}}}, {"other", {int64_t{3}}}});
  steps.add("aten.gt.Scalar", DType::kBool, {{"self", {ValueRef{x}}}, {"other", {0.5}}});
  const ValueId stop = steps.numbers({11, 13});
  steps.add("aten.eq.Tensor", DType::kBool, {{"self", {ValueRef{x}}}, {"other", {ValueRef{stop}}}});
  steps.add("aten.ge.Scalar", DType::kBool, {{"self", {ValueRef{x}}}, {"other", {int64_t{40}}}});
  steps.add("aten.clamp.default", DType::kInt64,
            {{"self", {ValueRef{x}}}, {"min", {int64_t{20}}}, {"max", {int64_t{30}}}});
  steps.add("aten.lt.Scalar", DType::kBool, {{"self", {ValueRef{x}}}, {"other", {50.0}}});
  steps.add("aten.nll_loss_forward.default", DType::kFloat32, {{"ignore_index", {int64_t{-100}}}});
  EXPECT_EQ(named_integers(steps.program), (std::vector<int64_t>{-100, -1, 11, 13, 19, 20, 21, 29,
                                                                 30, 31, 39, 40, 41, 49, 50, 51}));
}

TEST(Sources, ZeroIsNamedByWhatTellsSignsApart) {
  InputSteps steps;
  const ValueId y = steps.add("aten.randn.default", DType::kFloat32, {});
  steps.add("aten.relu.default", DType::kFloat32, {{"self", {ValueRef{y}}}});
  EXPECT_EQ(named_integers(steps.program), std::vector<int64_t>{});
  const ValueId x = steps.add("aten.randint.low", DType::kInt64, {});
  steps.add("aten.relu.default", DType::kInt64, {{"self", {ValueRef{x}}}});
  EXPECT_EQ(named_integers(steps.program), (std::vector<int64_t>{-1, 0, 1}));
}

TEST(Sources, OfSeveralWritesTheLastCountsUnlessTheyAdd) {
  const auto writes = [](const std::string& op, std::map<std::string, Arg> args = {}) {
    InputSteps steps;
    steps.add(op, DType::kFloat32, std::move(args));
    return writes_by_index(steps.program);
  };
  EXPECT_TRUE(writes("aten.index_put.default"));
  EXPECT_TRUE(writes("aten.index_put_.default", {{"accumulate", {false}}}));
  EXPECT_FALSE(writes("aten.index_put.default", {{"accumulate", {true}}}));
  EXPECT_TRUE(writes("aten.scatter.src"));
  EXPECT_FALSE(writes("aten.scatter_add.default"));
  EXPECT_FALSE(writes("aten.index_add.default"));
}

}  // namespace
}  // namespace kw
