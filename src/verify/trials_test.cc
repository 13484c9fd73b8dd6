#include "verify/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "formats/error.h"

namespace kw {
namespace {

Task with_outputs(const std::vector<int64_t>& sizes) {
  Task task;
  for (int64_t size : sizes) {
    const int next = static_cast<int>(task.forward.values.size());
    task.forward.values.push_back({DType::kFloat32, {size}, {1}, 0, next});
    task.forward.outputs.push_back(next);
  }
  return task;
}

TEST(Trials, AreFewerWhereEveryOutputHasManyElements) {
  VerifyOptions options;
  EXPECT_EQ(usual_trials(with_outputs({1 << 20, 1 << 21}), options), 2);
  EXPECT_EQ(usual_trials(with_outputs({1 << 20, 1 << 12}), options), 2);
  EXPECT_EQ(usual_trials(with_outputs({1 << 20, 1000}), options), 5);
  options.tolerance = Tolerance::kKernelBench;  // no varied sets
  EXPECT_EQ(usual_trials(with_outputs({1 << 20}), options), 5);
}

TEST(Trials, AreTenAtLeastWhereAnOutputHasFewElements) {
  VerifyOptions options;
  options.trials = 2;
  options.variations = false;
  EXPECT_EQ(plan_trials(with_outputs({1000}), 0, 1, options).size(), 2u);
  EXPECT_EQ(plan_trials(with_outputs({1000, 1}), 0, 1, options).size(), 10u);
  options.variations = true;
  EXPECT_EQ(plan_trials(with_outputs({1000, 1}), 0, 1, options).size(), 18u);
}

TEST(Trials, DifferInTheirSeeds) {
  std::set<uint64_t> seeds;
  const auto planned = plan_trials(with_outputs({1000}), 0, 1, VerifyOptions());
  for (const TrialRequest& request : planned) seeds.insert(request.seed);
  EXPECT_EQ(seeds.size(), planned.size());
  EXPECT_EQ(planned.size(), 11u);  // five, and six varied ones
}

TEST(Trials, HaveOtherParametersWhereThereAreAny) {
  const auto affine = [](const Task& task) {
    const auto planned = plan_trials(task, 0, 1, VerifyOptions());
    return std::count_if(planned.begin(), planned.end(), [](const TrialRequest& request) {
      return request.variation == Variation::kAffine;
    });
  };
  Task task = with_outputs({1000});
  EXPECT_EQ(affine(task), 0);
  task.inputs.values.push_back({DType::kBool, {1000}, {1}, 0, 0});
  task.inputs.outputs.push_back(0);
  EXPECT_EQ(affine(task), 1);
  task.inputs.values[0].dtype = DType::kFloat32;
  EXPECT_EQ(affine(task), 0);
  task.state.push_back({{"weight"}, "parameter"});
  EXPECT_EQ(affine(task), 1);
}

// Which of many zeros is the largest, and what 0/0 is as a code, nobody says.
TEST(Trials, HaveNoZerosWhereNumbersBecomeIntegers) {
  const auto zeros = [](DType made) {
    Task task = with_outputs({1000});
    task.forward.values.push_back({made, {1000}, {1}, 0, 1});
    task.forward.steps.emplace_back(
        AtenCall{"aten.argmax.default", {{"self", {ValueRef{0}}}}, {1}, {}});
    const auto planned = plan_trials(task, 0, 1, VerifyOptions());
    return std::count_if(planned.begin(), planned.end(), [](const TrialRequest& request) {
      return request.variation == Variation::kZeros;
    });
  };
  EXPECT_EQ(zeros(DType::kFloat32), 1);
  EXPECT_EQ(zeros(DType::kBool), 1);
  EXPECT_EQ(zeros(DType::kInt64), 0);
  EXPECT_EQ(zeros(DType::kInt8), 0);
}

struct JudgeTest : testing::Test {
  VerifyOptions options;
  TrialJudge judge{options};

  static TrialRequest of(Variation variation) {
    TrialRequest request;
    request.variation = variation;
    return request;
  }
  // One output of 100 elements, as far off as the reference's.
  static TrialReport right() {
    TrialReport report;
    report.status = "ok";
    OutputErrors errors;
    errors.dtype = "float32";
    errors.elements = errors.finite = 100;
    errors.reference_rms = errors.candidate_rms = 1e-7;
    errors.reference_worst = errors.candidate_worst = 3e-7;
    errors.oracle_rms = errors.oracle_max = 1;
    report.outputs = {errors};
    return report;
  }
  // As right(), where the reference is not finite in 10 elements.
  static TrialReport infinite() {
    TrialReport report = right();
    report.outputs[0].reference_finite = false;
    report.outputs[0].finite = 90;
    return report;
  }
  static TrialReport failed(const char* status, const char* fault) {
    TrialReport report;
    report.status = status;
    report.fault = fault;
    report.message = "why";
    return report;
  }
};

TEST_F(JudgeTest, OneWrongTrialIsEnough) {
  EXPECT_EQ(judge.add(of(Variation::kPlain), right()), "");
  TrialReport wrong = right();
  wrong.outputs[0].candidate_rms = 1e-3;
  EXPECT_NE(judge.add(of(Variation::kPlain), wrong), "");
  EXPECT_EQ(judge.evidence().size(), 2u);
}

TEST_F(JudgeTest, AVariedSetThatTheReferenceRefusesSaysNothing) {
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), failed("failed", "reference")), "");
  EXPECT_TRUE(judge.evidence()[0].contains("skipped"));
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), failed("failed", "candidate")), "why");
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), failed("died", "")), "why");
}

TEST_F(JudgeTest, AReferenceThatFailsAsItIsIsAtFault) {
  EXPECT_THROW(judge.add(of(Variation::kPlain), failed("failed", "reference")), InputError);
}

TEST_F(JudgeTest, ATaskThatIsFiniteIsNotJudgedWhereAVariedSetIsNot) {
  EXPECT_EQ(judge.add(of(Variation::kPlain), right()), "");
  TrialReport report = infinite();
  report.outputs[0].candidate_rms = 1;
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), report), "");
  EXPECT_TRUE(judge.evidence()[1].contains("skipped"));
}

TEST_F(JudgeTest, ATaskThatIsNotFiniteIsJudgedByWhatIs) {
  EXPECT_EQ(judge.add(of(Variation::kPlain), infinite()), "");
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), infinite()), "");
  TrialReport lost = infinite();
  lost.outputs[0].lost = 1;
  EXPECT_NE(judge.add(of(Variation::kScaleUp), lost), "");
  lost.outputs[0].finite = 10;  // too few to say anything
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), lost), "");
}

TEST_F(JudgeTest, WhatIsKnownOfLaunchesAndOfTheTaskIsKept) {
  TrialReport report = right();
  report.idle_launches = {3};
  report.passes_zeros = true;
  TrialRequest request = of(Variation::kPlain);
  EXPECT_EQ(judge.add(request, report), "");
  EXPECT_TRUE(judge.idle_launches().empty()) << "nobody asked";
  request.each_launch = true;
  EXPECT_EQ(judge.add(request, report), "");
  EXPECT_EQ(judge.idle_launches(), std::vector<int>{3});
  EXPECT_TRUE(judge.degenerate());
}

TEST_F(JudgeTest, AChecklessTrialPassesWhatTheCheckWouldFind) {
  TrialReport report = right();
  report.guards_intact = report.inputs_unchanged = false;
  EXPECT_NE(judge.add(of(Variation::kPlain), report), "");
  options.without = {"guards", "inputs"};
  EXPECT_EQ(judge.add(of(Variation::kPlain), report), "");
}

}  // namespace
}  // namespace kw
