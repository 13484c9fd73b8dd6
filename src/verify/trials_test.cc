#include "verify/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "formats/base/error.h"

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

std::vector<TrialRequest> planned(const Task& task, const VerifyOptions& options = {}) {
  return plan_trials({task}, options);
}

void hold(Task& task, const std::string& name, const std::string& kind, DType dtype) {
  task.state.push_back({{name}, kind});
  for (Program* program : {&task.init, &task.forward}) {
    const int next = static_cast<int>(program->values.size());
    program->values.push_back({dtype, {8}, {1}, 0, next});
    auto& held = program == &task.init ? program->outputs : program->inputs;
    held.push_back(next);
  }
}

int64_t count_of(Variation variation, const std::vector<TrialRequest>& trials) {
  return std::count_if(trials.begin(), trials.end(),
                       [&](const TrialRequest& request) { return request.variation == variation; });
}

TEST(Trials, ChangeWholeNumbersAsTheyAreMade) {
  const auto with = [](const std::string& op, DType dtype, bool compares) {
    Task task = with_outputs({1000});
    task.inputs.values.push_back({dtype, {8}, {1}, 0, 0});
    task.inputs.steps.emplace_back(AtenCall{op, {}, {0}, {}});
    task.inputs.outputs.push_back(0);
    task.forward.steps.emplace_back(
        AtenCall{"aten.ne.Scalar", {{"other", compares ? Arg{int64_t{-1}} : Arg{0.5}}}, {0}, {}});
    const auto trials = planned(task);
    std::vector<Variation> out;
    for (const TrialRequest& request : trials) {
      if (source_change(request.variation)) out.push_back(request.variation);
    }
    return out;
  };
  using List = std::vector<Variation>;
  EXPECT_EQ(with("aten.randint.low", DType::kInt64, true),
            (List{Variation::kEnds, Variation::kNamed}));
  EXPECT_EQ(with("aten.arange.default", DType::kInt64, false), List{Variation::kShuffled});
  EXPECT_EQ(with("aten.ones.default", DType::kBool, true), List{Variation::kOther});
  EXPECT_EQ(with("aten.randn.default", DType::kFloat32, true), List{});
}

TEST(Trials, CrossEachThresholdThatIsNamed) {
  Task task = with_outputs({1000});
  EXPECT_EQ(count_of(Variation::kCrossed, planned(task)), 0);
  std::map<std::string, Arg> args = {{"self", {ValueRef{0}}}, {"min", {-5.0}}, {"max", {5.0}}};
  task.forward.steps.emplace_back(AtenCall{"aten.clamp.default", args, {0}, {}});
  std::vector<int> thresholds;
  for (const TrialRequest& request : planned(task)) {
    if (request.variation == Variation::kCrossed) thresholds.push_back(request.only);
  }
  EXPECT_EQ(thresholds, (std::vector<int>{0, 1, 2})) << "each, and both at once";
}

TEST(Trials, HaveTiesWhereNumbersAreCompared) {
  Task task = with_outputs({1000});
  EXPECT_EQ(count_of(Variation::kTies, planned(task)), 0);
  task.forward.steps.emplace_back(AtenCall{"aten.ge.Tensor", {}, {0}, {}});
  EXPECT_EQ(count_of(Variation::kTies, planned(task)), 1);
}

TEST(Trials, HaveOutliersWhereExponentialsMeetInRows) {
  const auto outliers = [](std::initializer_list<const char*> ops) {
    Task task = with_outputs({1000});
    for (const char* op : ops) task.forward.steps.emplace_back(AtenCall{op, {}, {0}, {}});
    return count_of(Variation::kOutliers, planned(task));
  };
  EXPECT_EQ(outliers({"aten.sigmoid.default"}), 0);
  EXPECT_EQ(outliers({"aten.softmax.int"}), 1);
  EXPECT_EQ(outliers({"aten.exp.default", "aten.sum.dim_IntList"}), 1);
  EXPECT_EQ(outliers({"aten.exp.default", "aten.cumsum.default"}), 1);
}

TEST(Trials, FreshMemoryHoldsEachKindInTurn) {
  std::set<Unwritten> kinds;
  for (const TrialRequest& request : planned(with_outputs({1000}))) kinds.insert(request.unwritten);
  EXPECT_EQ(kinds.size(), 4u);
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
  EXPECT_EQ(planned(with_outputs({1000}), options).size(), 2u);
  EXPECT_EQ(planned(with_outputs({1000, 1}), options).size(), 10u);
  options.variations = true;
  EXPECT_EQ(planned(with_outputs({1000, 1}), options).size(), 18u);
}

TEST(Trials, AreTenWhereThereAreFewIndices) {
  const auto plain = [](int64_t rows) {
    Task task = with_outputs({1 << 16});
    task.forward.values.push_back({DType::kInt64, {rows}, {1}, 0, 1});
    task.forward.steps.emplace_back(
        AtenCall{"aten.argmax.default", {{"self", {ValueRef{0}}}}, {1}, {}});
    task.forward.outputs = {1};
    const auto trials = planned(task);
    return std::count_if(trials.begin(), trials.end(), [](const TrialRequest& request) {
      return request.variation == Variation::kPlain;
    });
  };
  EXPECT_EQ(plain(128), 10);
  EXPECT_EQ(plain(1 << 12), 2);
}

TEST(Trials, DifferInTheirSeeds) {
  std::set<uint64_t> seeds;
  const auto trials = planned(with_outputs({1000}));
  for (const TrialRequest& request : trials) seeds.insert(request.seed);
  EXPECT_EQ(seeds.size(), trials.size());
  EXPECT_EQ(trials.size(), 11u);  // five, and six varied ones
}

TEST(Trials, HaveOtherParametersWhereThereAreAny) {
  Task task = with_outputs({1000});
  EXPECT_EQ(count_of(Variation::kAffine, planned(task)), 0);
  task.inputs.values.push_back({DType::kBool, {1000}, {1}, 0, 0});
  task.inputs.outputs.push_back(0);
  EXPECT_EQ(count_of(Variation::kAffine, planned(task)), 1) << "masks";
  task.inputs.values[0].dtype = DType::kFloat32;
  EXPECT_EQ(count_of(Variation::kAffine, planned(task)), 1) << "zeros, or what is not drawn";
  task.inputs.steps.emplace_back(AtenCall{"aten.randn.default", {}, {0}, {}});
  EXPECT_EQ(count_of(Variation::kAffine, planned(task)), 0);
  hold(task, "weight", "parameter", DType::kFloat32);
  EXPECT_EQ(count_of(Variation::kParameters, planned(task)), 1);
  EXPECT_EQ(count_of(Variation::kAffine, planned(task)), 0);
}

// Any of many equal zeros may be the largest, so outputs that are indices are not judged there. And
// 0/0, converted to an integer, may be an index out of bounds.
TEST(Trials, HaveNoZerosWhereNumbersAreConvertedToIntegers) {
  const auto zeros = [](const char* op, DType made, bool alone = false) {
    Task task = with_outputs({1000});
    if (alone) task.forward.outputs = {1};
    task.forward.values.push_back({made, {1000}, {1}, 0, 1});
    task.forward.steps.emplace_back(AtenCall{op, {{"self", {ValueRef{0}}}}, {1}, {}});
    return count_of(Variation::kZeros, planned(task));
  };
  EXPECT_EQ(zeros("aten._to_copy.default", DType::kFloat16), 1);
  EXPECT_EQ(zeros("aten._to_copy.default", DType::kBool), 1);
  EXPECT_EQ(zeros("aten._to_copy.default", DType::kInt8), 1) << "of another output";
  EXPECT_EQ(zeros("aten._to_copy.default", DType::kInt8, true), 0);
  EXPECT_EQ(zeros("aten.argmax.default", DType::kInt64, true), 1);
  EXPECT_EQ(zeros("aten.argmax.default", DType::kInt64), 1);
  EXPECT_EQ(zeros("aten.count_nonzero.default", DType::kInt64), 1);
}

TEST(Trials, InsteadOfOneThatSaidNothingVaryInputsOneByOne) {
  Task task = with_outputs({1000});
  task.inputs.values = {{DType::kFloat32, {8}, {1}, 0, 0},
                        {DType::kInt64, {8}, {1}, 0, 1},
                        {DType::kFloat32, {8}, {1}, 0, 2}};
  task.inputs.outputs = {0, 1, 2};
  TrialRequest request;
  request.variation = Variation::kNegative;
  const auto instead = trials_instead(request, task);
  ASSERT_EQ(instead.size(), 2u);
  EXPECT_EQ(instead[0].only, 0);
  EXPECT_EQ(instead[1].only, 2);
  EXPECT_NE(instead[0].seed, instead[1].seed);
  EXPECT_TRUE(trials_instead(instead[0], task).empty()) << "no further";
  request.variation = Variation::kParameters;
  hold(task, "scale", "parameter", DType::kFloat32);
  hold(task, "count", "buffer", DType::kInt64);
  ASSERT_EQ(trials_instead(request, task).size(), 1u);
  EXPECT_EQ(trials_instead(request, task)[0].variation, Variation::kAffine);
  hold(task, "variance", "parameter", DType::kFloat32);
  const auto by_parameter = trials_instead(request, task);
  ASSERT_EQ(by_parameter.size(), 3u);
  EXPECT_EQ(by_parameter[0].variation, Variation::kParameters);
  EXPECT_EQ(by_parameter[0].fixed, std::vector<int>{2});
  EXPECT_EQ(by_parameter[1].fixed, std::vector<int>{0});
  EXPECT_EQ(by_parameter[2].variation, Variation::kAffine);
  EXPECT_TRUE(trials_instead(by_parameter[0], task).empty()) << "no further";
  request.variation = Variation::kZeros;
  task.inputs.outputs = {0, 1};
  EXPECT_TRUE(trials_instead(request, task).empty()) << "the same again";
}

struct JudgeTest : testing::Test {
  VerifyOptions options;
  TrialJudge judge{options, with_outputs({100})};

  static TrialRequest of(Variation variation) {
    TrialRequest request;
    request.variation = variation;
    return request;
  }
  // One output of 100 elements, as far off as the reference's.
  static TrialReport right() {
    TrialReport report;
    report.status = ReplyStatus::kOk;
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
  static TrialReport failed(ReplyStatus status, Side fault) {
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
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), failed(ReplyStatus::kFailed, Side::kReference)), "");
  EXPECT_TRUE(judge.evidence()[0].contains("skipped"));
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), failed(ReplyStatus::kFailed, Side::kCandidate)),
            "why");
  EXPECT_EQ(judge.add(of(Variation::kScaleUp), failed(ReplyStatus::kDied, Side::kNone)), "why");
}

TEST_F(JudgeTest, AReferenceThatFailsAsItIsIsAtFault) {
  EXPECT_THROW(judge.add(of(Variation::kPlain), failed(ReplyStatus::kFailed, Side::kReference)),
               InputError);
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

TEST_F(JudgeTest, TheEdgeOfADomainIsJudgedByWhatIsFinite) {
  EXPECT_EQ(judge.add(of(Variation::kPlain), right()), "");
  TrialReport lost = infinite();
  EXPECT_EQ(judge.add(of(Variation::kBlank), lost), "");
  EXPECT_FALSE(judge.said_nothing());
  lost.outputs[0].lost = 1;
  EXPECT_NE(judge.add(of(Variation::kBlank), lost), "");
  EXPECT_EQ(judge.add(of(Variation::kNegative), lost), "");
  EXPECT_TRUE(judge.said_nothing());
}

// What a variance of equal numbers gives is rounding: it must be a number, and no larger than an
// eighth of what the output is on usual inputs.
TEST(Judge, OfConstantRowsGrossErrorsCount) {
  Task reference = with_outputs({1000});
  reference.forward.steps.emplace_back(
      AtenCall{"aten.sqrt.default", {{"self", {ValueRef{0}}}}, {0}, {}});
  const VerifyOptions options;
  TrialJudge judge(options, reference);
  TrialRequest plain, constant;
  constant.variation = Variation::kConstant;
  TrialReport report;
  report.status = ReplyStatus::kOk;
  report.outputs.push_back({.dtype = "float32", .elements = 1000});
  OutputErrors& errors = report.outputs[0];
  errors.oracle_rms = 8;
  EXPECT_EQ(judge.add(plain, report), "");
  errors.oracle_rms = errors.oracle_max = 0;  // a variance of equal numbers is zero
  errors.candidate_rms = errors.candidate_worst = 0.9;
  EXPECT_EQ(judge.add(constant, report), "");
  errors.candidate_worst = 1.1;
  EXPECT_NE(judge.add(constant, report), "");
  errors.oracle_rms = errors.oracle_max = 2;  // what the reference has there may be as large
  errors.candidate_worst = 0.9;
  EXPECT_EQ(judge.add(constant, report), "");
  errors.nonfinite_mismatch = 1;
  EXPECT_NE(judge.add(constant, report), "");
}

TEST_F(JudgeTest, WhatIsKnownOfLaunchesAndOfTheTaskIsKept) {
  TrialReport report = right();
  report.idle_launches = {3};
  report.passes_zeros = true;
  TrialRequest request = of(Variation::kPlain);
  EXPECT_EQ(judge.add(request, report), "");
  EXPECT_TRUE(judge.launches().empty()) << "nobody asked";
  request.each_launch = true;
  EXPECT_EQ(judge.add(request, report), "");
  EXPECT_EQ(judge.launches().idle, std::vector<int>{3});
  EXPECT_TRUE(judge.degenerate());
}

TEST_F(JudgeTest, ALaunchCopiesIfAllTrialsSaySo) {
  const auto with = [&](LaunchCopies copies) {
    TrialReport report = right();
    report.copies = std::move(copies);
    EXPECT_EQ(judge.add(of(Variation::kPlain), report), "");
  };
  const auto copying = [&] {
    std::vector<int> out;
    for (const LaunchCopy& copy : judge.launches().copies) out.push_back(copy.step);
    return out;
  };
  with({{}, {{1, 0, 2, 0.5}, {2, 0, 2, 3}, {3, 0, 2, 0}, {4, 0, 1, 0}}});
  EXPECT_EQ(copying(), (std::vector<int>{1, 2, 3, 4}));
  // Step 1 is the same but for rounding, or beside large numbers. Others add or multiply by what
  // depends on the numbers, or compute.
  with({{4}, {{1, 0, 2.01, 0}, {2, 0, 2, 30}, {3, 0, 5, 0}}});
  EXPECT_EQ(copying(), std::vector<int>{1});
  with({});  // a trial that shows nothing
  EXPECT_EQ(copying(), std::vector<int>{1});
}

TEST_F(JudgeTest, WhatKernelBenchWouldSayIsKeptBesideTheVerdict) {
  EXPECT_FALSE(judge.allclose());
  EXPECT_EQ(judge.add(of(Variation::kPlain), right()), "");
  EXPECT_EQ(judge.allclose(), true);
  TrialReport off = right();  // far beyond the reference's own error, and near by its rule
  off.outputs[0].candidate_rms = off.outputs[0].candidate_worst = 1;
  off.outputs[0].allclose_worst = 0.9;
  EXPECT_NE(judge.add(of(Variation::kPlain), off), "");
  EXPECT_EQ(judge.allclose(), true);
  off.outputs[0].allclose_worst = 1.1;
  EXPECT_NE(judge.add(of(Variation::kScaleUp), off), "");
  EXPECT_EQ(judge.allclose(), true) << "inputs that the task does not draw";
  EXPECT_NE(judge.add(of(Variation::kPlain), off), "");
  EXPECT_EQ(judge.allclose(), false);
  EXPECT_EQ(judge.add(of(Variation::kPlain), right()), "");
  EXPECT_EQ(judge.allclose(), false);
}

TEST_F(JudgeTest, AChecklessTrialPassesWhatTheCheckWouldFind) {
  TrialReport report = right();
  report.guards_intact = report.inputs_unchanged = false;
  EXPECT_NE(judge.add(of(Variation::kPlain), report), "");
  options.without = {"guards", "inputs"};
  EXPECT_EQ(judge.add(of(Variation::kPlain), report), "");
}

// An error that the reference's luck could explain is asked about again, any other is not.
TEST_F(JudgeTest, ErrorsThatAreSomewhatTooLargeAreInDoubt) {
  const auto doubt = [&](const std::function<void(OutputErrors&)>& spoil,
                         Variation variation = Variation::kPlain) {
    TrialJudge fresh{options, with_outputs({100})};
    TrialReport report = right();
    spoil(report.outputs[0]);
    EXPECT_NE(fresh.add(of(variation), report), "");
    return fresh.in_doubt();
  };
  EXPECT_EQ(judge.add(of(Variation::kPlain), right()), "");
  EXPECT_FALSE(judge.in_doubt());
  EXPECT_TRUE(doubt([](OutputErrors& e) { e.candidate_rms = 3e-6; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.candidate_rms = 1e-3; }));
  EXPECT_TRUE(doubt([](OutputErrors& e) { e.candidate_worst = 3e-5; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.candidate_rms = 2e-3, e.candidate_worst = 1e-2; }));
  // One element of a hundred has all of it: a sum near zero that the reference had the luck to get
  // exactly, and that is what is divided by.
  EXPECT_TRUE(doubt([](OutputErrors& e) { e.candidate_rms = 2e-3, e.candidate_worst = 2e-2; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) {
    e.candidate_rms = 2e-3, e.candidate_worst = 2e-2, e.nonfinite_mismatch = 1;
  }));
  EXPECT_TRUE(doubt([](OutputErrors& e) { e.section_excess = 2; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.section_excess = 1000; }));
  // Of zeros programs make equal numbers, whose deviation is what roundings left: by however much.
  for (Variation variation : {Variation::kZeros, Variation::kBlank}) {
    EXPECT_TRUE(doubt([](OutputErrors& e) { e.section_excess = 1e8; }, variation));
    EXPECT_FALSE(doubt([](OutputErrors& e) { e.nonfinite_mismatch = 1; }, variation));
    EXPECT_FALSE(doubt([](OutputErrors& e) { e.candidate_rms = NAN; }, variation));
  }
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.candidate_rms = NAN; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.nonfinite_mismatch = 1; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.same_meta = false, e.meta_difference = "shape"; }));
  EXPECT_FALSE(doubt([](OutputErrors& e) { e.dtype = "int64", e.int_mismatch = 1; }));
  EXPECT_FALSE(
      doubt([](OutputErrors& e) { e.integers = 100, e.integers_wrong = 1; }, Variation::kIntegers));
}

TEST_F(JudgeTest, SoAreFewIndicesThatAreOthers) {
  Task task = with_outputs({1 << 16});
  task.forward.values.push_back({DType::kInt64, {128}, {1}, 0, 1});
  task.forward.steps.emplace_back(
      AtenCall{"aten.argmax.default", {{"self", {ValueRef{0}}}}, {1}, {}});
  task.forward.outputs = {1};
  for (const auto& [others, in_doubt] : {std::pair{2, true}, {64, false}}) {
    TrialJudge fresh{options, task};
    TrialReport report = right();
    report.outputs[0].dtype = "int64";
    report.outputs[0].elements = 128;
    report.outputs[0].int_mismatch = others;
    EXPECT_NE(fresh.add(of(Variation::kPlain), report), "");
    EXPECT_EQ(fresh.in_doubt(), in_doubt) << others;
  }
}

TEST_F(JudgeTest, SoAreThoseOfFewElementsTogether) {
  for (const auto& [error, in_doubt] : {std::pair{3e-6, true}, {1e-4, false}}) {
    TrialJudge fresh{options, with_outputs({10})};
    TrialReport report = right();
    report.outputs[0].elements = 10;
    report.outputs[0].candidate_rms = report.outputs[0].candidate_worst = error;
    for (int i = 0; i < ErrorPool::kTrials; ++i)
      EXPECT_EQ(fresh.add(of(Variation::kPlain), report), "");
    EXPECT_NE(fresh.together(), "");
    EXPECT_EQ(fresh.in_doubt(), in_doubt) << error;
  }
}

}  // namespace
}  // namespace kw
