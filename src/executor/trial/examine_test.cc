// Examines tasks whose results, errors and sensitivities are known by hand.
#include "executor/trial/examine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

constexpr int64_t kExamined = 4096;

// `forward`: steps on x (value 0) and y (value 1), two inputs of kExamined normal numbers, that
// make value `values` - 1.
Task task_of(Json steps, int values, std::vector<int64_t> last_shape = {kExamined},
             const std::string& last_dtype = "float32") {
  Json all = Json::array();
  for (int i = 0; i < values - 1; ++i) all.push_back(value_json("float32", {kExamined}, i));
  all.push_back(value_json(last_dtype, last_shape, values - 1));
  return make_task(random_inputs({{kExamined}, {kExamined}}),
                   make_program(all, {0, 1}, std::move(steps), {values - 1}));
}

ExamineReport examined(const Task& task) {
  FakeBackend backend;
  LoadedTask loaded(task, backend);
  ExamineReport report = examine({0, 5}, loaded, backend);
  EXPECT_EQ(report.status, ReplyStatus::kOk);
  return report;
}

Json add(int a, Json b, int out) {
  return step_json("aten.add.Tensor", {{"self", v(a)}, {"other", std::move(b)}}, {out});
}
Json mul(int a, Json b, int out) {
  return step_json("aten.mul.Tensor", {{"self", v(a)}, {"other", std::move(b)}}, {out});
}

// x + y of two normal variables has RMS sqrt(2). Drawing either of them again changes it by
// sqrt(2). Its error is about 2^-24 of it, and a unit in each variable changes it by about 2^-23.
TEST(Examine, ASum) {
  const ExamineReport report = examined(task_of({add(0, v(1), 2)}, 3));
  ASSERT_EQ(report.outputs.size(), 1u);
  const ExaminedOutput& output = report.outputs[0];
  EXPECT_EQ(output.dtype, "float32");
  EXPECT_EQ(output.elements, kExamined);
  EXPECT_EQ(output.nonfinite, 0);
  EXPECT_NEAR(output.rms, std::sqrt(2), 0.1);
  EXPECT_NEAR(output.redrawn_change, std::sqrt(2), 0.1);
  EXPECT_GT(output.error, 0x1p-27);
  EXPECT_LT(output.error, 0x1p-23);
  EXPECT_GT(output.neighbour, 0x1p-26);
  EXPECT_LT(output.neighbour, 0x1p-21);
  ASSERT_EQ(report.changes.size(), 2u);
  for (const auto& changes : report.changes) EXPECT_NEAR(changes.at(0), 1, 0.1);
}

// x + 1e-4 y: y changes it by 1.4e-4.
TEST(Examine, AnInputThatHardlyMatters) {
  const ExamineReport report = examined(task_of({mul(1, 1e-4, 2), add(0, v(2), 3)}, 4));
  EXPECT_NEAR(report.changes[0][0], std::sqrt(2), 0.1);
  EXPECT_NEAR(report.changes[1][0], 1e-4 * std::sqrt(2), 1e-5);
}

TEST(Examine, AnInputThatIsNotRead) {
  const ExamineReport report = examined(task_of({mul(0, 2.0, 2)}, 3));
  EXPECT_GT(report.changes[0][0], 1);
  EXPECT_EQ(report.changes[1][0], 0);
}

// (x + y + 1e6) - 1e6 keeps 4 digits less than fp32 has.
TEST(Examine, CancellationIsUnstable) {
  const ExamineReport report =
      examined(task_of({add(0, v(1), 2), add(2, 1e6, 3), add(3, -1e6, 4)}, 5));
  EXPECT_NEAR(report.outputs[0].error, 0.0625 / std::sqrt(12) / std::sqrt(2), 5e-3);
}

// sin(1e6 x) is exact for its input, and another number if its input is a unit off.
TEST(Examine, WhatAmplifiesItsInputIsUnstable) {
  const ExamineReport report =
      examined(task_of({mul(0, 1e6, 2), step_json("aten.sin.default", {{"self", v(2)}}, {3})}, 4));
  EXPECT_GT(report.outputs[0].neighbour, 0.01);
}

TEST(Examine, AResultThatIsAlwaysTheSame) {
  const ExamineReport report = examined(task_of({mul(0, 0.0, 2), add(2, 3.0, 3)}, 4));
  EXPECT_NEAR(report.outputs[0].rms, 3, 1e-12);
  EXPECT_EQ(report.outputs[0].redrawn_change, 0);
  EXPECT_EQ(report.changes[0][0], 0);
}

// sqrt(x) of negative numbers.
TEST(Examine, NotFinite) {
  const ExamineReport report =
      examined(task_of({step_json("aten.sqrt.default", {{"self", v(0)}}, {2})}, 3));
  EXPECT_NEAR(static_cast<double>(report.outputs[0].nonfinite), kExamined / 2, kExamined / 16);
}

// fp32 holds it, fp64's result in fp32 would not: 1e30 * 1e30 x overflows in fp32 alone.
TEST(Examine, FiniteInOnePrecisionOnly) {
  const ExamineReport report = examined(task_of({mul(0, 1e30, 2), mul(2, 1e30, 3)}, 4));
  EXPECT_EQ(report.outputs[0].nonfinite, kExamined);
}

// The booleans x < y differ in a third of the elements if x is drawn again. Of three normal
// numbers, y is between the two others in one of three cases.
TEST(Examine, AnswersOfComparisons) {
  const ExamineReport report =
      examined(task_of({step_json("aten.lt.Tensor", {{"self", v(0)}, {"other", v(1)}}, {2})}, 3,
                       {kExamined}, "bool"));
  EXPECT_NEAR(report.changes[0][0], 1.0 / 3, 0.03);
  EXPECT_LT(report.outputs[0].error, 1e-2);
  EXPECT_NEAR(report.outputs[0].redrawn_change, 0.5, 0.05);
}

// What a program overwrites is the same for each of its runs.
TEST(Examine, InputsThatAreOverwritten) {
  const ExamineReport report = examined(make_task(
      random_inputs({{kExamined}, {kExamined}}),
      make_program({value_json("float32", {kExamined}, 0), value_json("float32", {kExamined}, 1),
                    value_json("float32", {kExamined}, 0)},
                   {0, 1},
                   {step_json("aten.add_.Tensor", {{"self", v(0)}, {"other", v(1)}}, {2}, {0})},
                   {2})));
  EXPECT_LT(report.outputs[0].error, 1e-6);
  EXPECT_NEAR(report.changes[1][0], 1, 0.1);
}

}  // namespace
}  // namespace kw::exec
