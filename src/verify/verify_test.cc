#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "program/rewrite/transform.h"
#include "verify/aliasing.h"
#include "verify/coverage/coverage.h"
#include "verify/numerics/numerics.h"
#include "verify/verdict/statistics.h"
#include "verify/verifier.h"

namespace kw {
namespace {

TEST(Statistics, MedianIsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

// The interval covers the true ratio about as often as it claims.
TEST(Statistics, IntervalCoversTheTruth) {
  std::mt19937 rng(1);
  std::lognormal_distribution<double> noise(0, 0.05);
  int covered = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> a, b;
    for (int i = 0; i < 40; ++i) {
      a.push_back(3.0 * noise(rng));
      b.push_back(2.0 * noise(rng));
    }
    const Interval interval = median_ratio(a, b, 0.95, round);
    EXPECT_LE(interval.lower, interval.estimate);
    EXPECT_GE(interval.upper, interval.estimate);
    covered += interval.lower <= 1.5 && 1.5 <= interval.upper;
  }
  EXPECT_GT(covered, 0.90 * kRounds);
  EXPECT_LT(covered, kRounds);
}

// Of few rounds too, about as often.
TEST(Statistics, IntervalsOfFewRoundsCoverTheTruth) {
  std::mt19937 rng(2);
  std::lognormal_distribution<double> noise(0, 0.05);
  for (int rounds : {4, 5}) {
    int covered = 0;
    constexpr int kTimes = 1000;
    for (int time = 0; time < kTimes; ++time) {
      std::vector<double> a, b;
      for (int i = 0; i < rounds; ++i) {
        a.push_back(3.0 * noise(rng));
        b.push_back(2.0 * noise(rng));
      }
      const Interval interval = median_ratio(a, b);
      covered += interval.lower <= 1.5 && 1.5 <= interval.upper;
    }
    EXPECT_GT(covered, 0.92 * kTimes) << rounds;
  }
}

OutputErrors errors_of(double reference_rms, double candidate_rms, double worst_factor = 3) {
  OutputErrors e;
  e.dtype = "float32";
  e.oracle_rms = 1;
  e.elements = 1000;
  e.oracle_max = 4;
  e.reference_rms = reference_rms;
  e.reference_worst = worst_factor * reference_rms;
  e.candidate_rms = candidate_rms;
  e.candidate_worst = worst_factor * candidate_rms;
  return e;
}

// Measured on an H200, matmul 1024x8192x8192: IEEE fp32 1.6e-6, 3xTF32 2.8e-7, TF32 2.9e-4.
TEST(Numerics, AcceptsThreeTermTf32AndRefusesPlainTf32) {
  EXPECT_EQ(output_fault(errors_of(1.6e-6, 2.8e-7), Tolerance::kCalibrated), "");
  EXPECT_NE(output_fault(errors_of(1.6e-6, 2.9e-4), Tolerance::kCalibrated), "");
}

TEST(Numerics, NotANumberNeverPasses) {
  OutputErrors e = errors_of(1e-7, std::nan(""));
  EXPECT_NE(output_fault(e, Tolerance::kCalibrated), "");
  e.allclose_worst = std::nan("");
  EXPECT_NE(output_fault(e, Tolerance::kKernelBench), "");
  e = errors_of(1e-7, 1e-7);
  e.nonfinite_mismatch = 1;
  EXPECT_NE(output_fault(e, Tolerance::kCalibrated), "");
}

TEST(Numerics, OneRoundingPassesWhereTheReferenceHadNone) {
  EXPECT_EQ(output_fault(errors_of(0, 0.3 * 0x1p-23), Tolerance::kCalibrated), "");
  EXPECT_NE(output_fault(errors_of(0, 20 * 0x1p-23), Tolerance::kCalibrated), "");
}

// A device's fast exponentials give zero where PyTorch's give a number less than the least normal
// one.
TEST(Numerics, ZeroIsRightWhereResultsAreLessThanTheLeastNormalNumber) {
  for (int64_t elements : {1, 1000}) {
    const auto wrong = [&](const std::string& dtype, double size) {
      OutputErrors zeros = errors_of(1e-7, 1, 1);
      zeros.elements = elements;
      zeros.dtype = dtype;
      zeros.oracle_rms = zeros.oracle_max = size;
      zeros.candidate_worst = 1;
      ErrorPool pool;
      for (int trial = 0; trial < ErrorPool::kTrials; ++trial) pool.add({zeros});
      const bool together = !pool.fault().empty();
      EXPECT_TRUE(elements > 1 || together == !output_fault(zeros, Tolerance::kCalibrated).empty());
      return together || !output_fault(zeros, Tolerance::kCalibrated).empty();
    };
    EXPECT_FALSE(wrong("float32", 1e-39));
    EXPECT_FALSE(wrong("bfloat16", 1e-39));
    EXPECT_TRUE(wrong("float32", 1e-37));
    EXPECT_TRUE(wrong("bfloat16", 1e-37));
    EXPECT_TRUE(wrong("float16", 1e-5));  // computed in float32
    EXPECT_TRUE(wrong("float64", 1e-39));
  }
}

TEST(Numerics, FewElementsAreJudgedByAllTrialsTogether) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  auto verdict = [&](double scale) {
    ErrorPool pool;
    bool gross = false;
    for (int trial = 0; trial < 10; ++trial) {
      OutputErrors e =
          errors_of(1e-6 * std::abs(normal(random)), scale * 1e-6 * std::abs(normal(random)));
      e.elements = 1;
      // Results near zero make both relative errors large.
      const double near = std::abs(normal(random));
      e.oracle_rms = e.oracle_max = near;
      e.candidate_rms /= near, e.candidate_worst /= near;
      e.reference_rms /= near, e.reference_worst /= near;
      gross = gross || !output_fault(e, Tolerance::kCalibrated).empty();
      pool.add({e});
    }
    return gross || !pool.fault().empty();
  };
  int honest = 0, wrong = 0;
  for (int i = 0; i < 1000; ++i) {
    honest += verdict(1);
    wrong += verdict(40);
  }
  EXPECT_LE(honest, 2);
  EXPECT_EQ(wrong, 1000);
  OutputErrors e = errors_of(1e-7, 1e-2);
  e.elements = 1;
  EXPECT_NE(output_fault(e, Tolerance::kCalibrated), "");
  // The reference is off by the rounding of its result, which says nothing of a quarter.
  OutputErrors half = errors_of(2.4e-3, 0.25);
  half.elements = 1;
  half.dtype = "bfloat16";
  EXPECT_NE(output_fault(half, Tolerance::kCalibrated), "");
  half.candidate_rms = half.candidate_worst = 0.004;
  EXPECT_EQ(output_fault(half, Tolerance::kCalibrated), "");
}

TEST(Numerics, OneCrossSectionMayNotBeLeftOut) {
  OutputErrors e = errors_of(1e-7, 1e-7);
  e.section_excess = 0.9;
  EXPECT_EQ(output_fault(e, Tolerance::kCalibrated), "");
  for (double excess : {1.1, std::nan("")}) {
    e.section_excess = excess;
    EXPECT_NE(output_fault(e, Tolerance::kCalibrated), "");
  }
}

TEST(Numerics, IntegersMustBeEqual) {
  OutputErrors e = errors_of(0, 0);
  e.dtype = "int64";
  e.int_mismatch = 1;
  EXPECT_NE(output_fault(e, Tolerance::kCalibrated), "");
  e.int_mismatch = 0;  // near ties are not counted
  EXPECT_EQ(output_fault(e, Tolerance::kCalibrated), "");
}

TEST(Numerics, KernelBenchComparesIntegersAsItDoesFloats) {
  OutputErrors e = errors_of(0, 0);
  e.dtype = "int64";
  e.int_mismatch = 1;
  e.allclose_worst = 0.5;
  EXPECT_EQ(output_fault(e, Tolerance::kKernelBench), "");
  e.allclose_worst = 1.5;
  EXPECT_NE(output_fault(e, Tolerance::kKernelBench), "");
  e.dtype = "bool";
  EXPECT_NE(output_fault(e, Tolerance::kKernelBench), "");
}

// x -> relu(x) -> add(x): values 0, 1, 2 of equal size.
Task aten_task() {
  Task task;
  Program& p = task.forward;
  for (int i = 0; i < 3; ++i) p.values.push_back({DType::kFloat32, {1024}, {1}, 0, i});
  p.inputs = {0};
  p.steps = {
      AtenCall{"aten.relu.default", {{"self", {ValueRef{0}}}}, {1}, {}},
      AtenCall{"aten.add.Tensor", {{"self", {ValueRef{1}}}, {"other", {ValueRef{0}}}}, {2}, {}}};
  p.outputs = {2};
  return task;
}

Kernel one_in_one_out() {
  Kernel kernel;
  kernel.name = "k";
  kernel.params = {{"x", "*fp32"}, {"out", "*fp32"}};
  kernel.compiled = Compiled{.reads = {0}, .writes = {1}};
  return kernel;
}

AtenCall empty_call(ValueId result) {
  return {"aten.empty.memory_format", {{"size", {ArgList{{int64_t{1024}}}}}}, {result}, {}};
}

TEST(Coverage, AKernelForEverythingIsAll) {
  Task candidate;
  candidate.kernels = {one_in_one_out()};
  Program& p = candidate.forward;
  for (int i = 0; i < 2; ++i) p.values.push_back({DType::kFloat32, {1024}, {1}, 0, i});
  p.inputs = {0};
  p.steps = {empty_call(1), Launch{0, {1, 1, 1}, {{ValueRef{0}}, {ValueRef{1}}}}};
  p.outputs = {1};
  const Coverage found = coverage(aten_task(), candidate);
  EXPECT_EQ(found.share, 1);
  EXPECT_EQ(found.launches_alive, 1);
  EXPECT_TRUE(found.aten_left.empty());
  // The same launch, found to change nothing, earns nothing.
  EXPECT_EQ(coverage(aten_task(), candidate, {.idle = {1}, .copies = {}}).share, 0);
}

// A launch into a buffer that nothing reads, beside the PyTorch operators that do the work.
TEST(Coverage, ADecoyIsNothing) {
  Task candidate = aten_task();
  candidate.kernels = {one_in_one_out()};
  Program& p = candidate.forward;
  p.values.push_back({DType::kFloat32, {1024}, {1}, 0, 3});
  p.steps.push_back(empty_call(3));
  p.steps.push_back(Launch{0, {1, 1, 1}, {{ValueRef{0}}, {ValueRef{3}}}});
  const Coverage found = coverage(aten_task(), candidate);
  EXPECT_EQ(found.launches_alive, 0);
  EXPECT_EQ(found.share, 0);
  EXPECT_EQ(found.aten_left.size(), 2u);
}

// A Task of forward's steps on contiguous float32 matrices: first the state, then an argument. Each
// value has memory of its own.
Task matrix_task(std::vector<std::vector<int64_t>> shapes, int states, int inputs,
                 std::vector<Step> steps) {
  Task task;
  task.state.resize(states);
  Program& p = task.forward;
  for (const auto& shape : shapes) {
    const auto id = static_cast<int>(p.values.size());
    p.values.push_back({DType::kFloat32, shape, contiguous_strides(shape), 0, id});
  }
  for (int i = 0; i < inputs; ++i) p.inputs.push_back(i);
  task.derive.inputs.assign(p.inputs.begin(), p.inputs.begin() + states);
  task.derive.values.assign(p.values.begin(), p.values.begin() + states);
  p.steps = std::move(steps);
  p.outputs = {static_cast<int>(shapes.size()) - 1};
  return task;
}

AtenCall product_call(ValueId left, ValueId right, ValueId result) {
  return {
      "aten.mm.default", {{"self", {ValueRef{left}}}, {"mat2", {ValueRef{right}}}}, {result}, {}};
}

Step launch_of(ValueId in, ValueId out) {
  return Launch{0, {1, 1, 1}, {{ValueRef{in}}, {ValueRef{out}}}};
}

constexpr int64_t kRows = 50, kWidth = 20, kInner = 90;

// (x a) b of weights a and b: values a, b, x, x a, result.
Task two_products() {
  return matrix_task(
      {{kWidth, kInner}, {kInner, kWidth}, {kRows, kWidth}, {kRows, kInner}, {kRows, kWidth}}, 2, 3,
      {product_call(2, 0, 3), product_call(3, 1, 4)});
}

// What PyTorch computes by an operator that the reference has not: x a, then a kernel.
Task kernel_behind(const std::string& op) {
  AtenCall call = product_call(1, 0, 2);
  call.op = op;
  Task out = matrix_task(
      {{kWidth, kWidth}, {kRows, kWidth}, {kRows, kWidth}, {kRows, kWidth}, {kRows, kWidth}}, 1, 2,
      {std::move(call), AtenCall{"aten.clone.default", {{"self", {ValueRef{2}}}}, {3}, {}},
       empty_call(4), launch_of(3, 4)});
  out.kernels = {one_in_one_out()};
  return out;
}

TEST(Coverage, ACopyOfWhatPyTorchComputedOtherwiseIsNothing) {
  const Task reference = matrix_task(
      {{kWidth, kWidth}, {kRows, kWidth}, {kRows, kWidth}, {kRows, kWidth}}, 1, 2,
      {product_call(1, 0, 2),
       AtenCall{"aten.mul.Scalar", {{"self", {ValueRef{2}}}, {"other", {2.0}}}, {3}, {}}});
  const LaunchFindings copies{{}, {{.step = 3, .source = 3, .factor = 2}}};
  const Task other = kernel_behind("aten.matmul.default");
  EXPECT_GT(coverage(reference, other).launches_alive, 0);
  const Coverage found = coverage(reference, other, copies);
  EXPECT_EQ(found.launches_alive, 0);
  EXPECT_EQ(found.share, 0);
  EXPECT_EQ(found.copying, std::vector<int>{3});
  // The factor is what is left to do behind the reference's own product.
  EXPECT_GT(coverage(reference, kernel_behind("aten.mm.default"), copies).share, 0);
}

TEST(Coverage, AnotherAssociationIsNoWorkOfAKernel) {
  Task candidate = two_products();
  candidate.kernels = {one_in_one_out()};
  Program& d = candidate.derive;
  d.values.push_back({DType::kFloat32, {kWidth, kWidth}, {kWidth, 1}, 0, 2});
  d.steps = {product_call(0, 1, 2)};
  d.outputs = {2};
  Program& p = candidate.forward;  // a, b, a b, x, x (a b), its copy
  p = matrix_task({{kWidth, kInner},
                   {kInner, kWidth},
                   {kWidth, kWidth},
                   {kRows, kWidth},
                   {kRows, kWidth},
                   {kRows, kWidth}},
                  2, 4, {product_call(3, 2, 4), empty_call(5), launch_of(4, 5)})
          .forward;
  EXPECT_EQ(coverage(two_products(), candidate).share, 0);
  // The reference's first product, done beside it for nothing, changes nothing.
  p.values.push_back({DType::kFloat32, {kRows, kInner}, {kInner, 1}, 0, 6});
  p.steps.insert(p.steps.begin(), product_call(3, 0, 6));
  p.outputs.push_back(6);
  EXPECT_EQ(coverage(two_products(), candidate).share, 0);
}

// PyTorch computes x a of (x a) b as the reference does. What is left is x (a b) at least.
TEST(Coverage, WhatTheReferenceHasTooIsNotSimplified) {
  Task candidate = two_products();
  candidate.kernels = {one_in_one_out()};
  candidate.forward.steps[1] = empty_call(4);
  candidate.forward.steps.push_back(launch_of(3, 4));
  const double known = kRows * kWidth * kInner, rest = kRows * kWidth * kWidth;
  EXPECT_DOUBLE_EQ(coverage(two_products(), candidate).flops_share, rest / (rest + known));
}

// A kernel multiplies two weights in each call, which is little. The product of their shape with x
// is none of the reference's.
TEST(Coverage, ATensorOfAKernelIsNoneOfTheReferences) {
  const Task reference = matrix_task({{8, 8}, {8, 8}, {kRows, 8}, {kRows, 8}, {kRows, 8}}, 0, 3,
                                     {product_call(2, 0, 3), product_call(3, 1, 4)});
  Task candidate =  // a, b, x, a b, x (a b)
      matrix_task({{8, 8}, {8, 8}, {kRows, 8}, {8, 8}, {kRows, 8}}, 0, 3,
                  {empty_call(3), launch_of(0, 3), product_call(2, 3, 4)});
  candidate.kernels = {one_in_one_out()};
  const double least = kRows * 8 * 8 + 8 * 8 * 8;
  EXPECT_DOUBLE_EQ(coverage(reference, candidate).flops_share, 8 * 8 * 8 / least);
}

TEST(Coverage, AKernelForEverythingIsAllWhateverAlgebraSpares) {
  Task candidate = two_products();
  candidate.kernels = {one_in_one_out()};
  candidate.forward.steps = {empty_call(4), launch_of(2, 4)};
  EXPECT_EQ(coverage(two_products(), candidate).share, 1);
}

// Behind a kernel, PyTorch computes two products where one would do. That is no work of the kernel,
// and does not take its own from it either.
TEST(Coverage, DetoursOfWhatIsLeftTakeNothingFromKernels) {
  const std::vector<std::vector<int64_t>> shapes = {{kWidth, kInner}, {kInner, kWidth},
                                                    {kRows, kWidth},  {kRows, kWidth},
                                                    {kRows, kInner},  {kRows, kWidth}};
  const Step relu = AtenCall{"aten.relu.default", {{"self", {ValueRef{2}}}}, {3}, {}};
  const Task reference =
      matrix_task(shapes, 2, 3, {relu, product_call(3, 0, 4), product_call(4, 1, 5)});
  Task candidate = reference;
  candidate.kernels = {one_in_one_out()};
  candidate.forward.steps[0] = launch_of(2, 3);
  candidate.forward.steps.insert(candidate.forward.steps.begin(), empty_call(3));
  const double own = kRows * kWidth, products = 2 * 2 * kRows * kWidth * kInner;
  EXPECT_DOUBLE_EQ(coverage(reference, candidate).flops_share, own / (own + products));
}

// A weight that the reference makes in each call can be made once.
TEST(Coverage, WhatFollowsFromWeightsIsMadeOnce) {
  const Task reference = matrix_task(
      {{kInner, kInner}, {2, kInner}, {kInner, kInner}, {2, kInner}}, 1, 2,
      {AtenCall{"aten.exp.default", {{"self", {ValueRef{0}}}}, {2}, {}}, product_call(1, 2, 3)});
  Task candidate = reference;
  candidate.kernels = {one_in_one_out()};
  Program& d = candidate.derive;
  d.values.push_back({DType::kFloat32, {kInner, kInner}, {kInner, 1}, 0, 1});
  d.steps = {AtenCall{"aten.exp.default", {{"self", {ValueRef{0}}}}, {1}, {}}};
  d.outputs = {1};
  candidate.forward =  // w, exp(w), x, x exp(w), its copy
      matrix_task({{kInner, kInner}, {kInner, kInner}, {2, kInner}, {2, kInner}, {2, kInner}}, 1, 3,
                  {product_call(2, 1, 3), empty_call(4), launch_of(3, 4)})
          .forward;
  EXPECT_EQ(coverage(reference, candidate).share, 0);
}

// Values by (storage, offset, shape) of rows of 4 floats; the first is the input.
Program returning(std::vector<std::array<int, 3>> outputs) {
  Program program;
  program.values.push_back({DType::kFloat32, {4, 4}, {4, 1}, 0, 0});
  program.inputs = {0};
  for (const auto& [storage, offset, rows] : outputs) {
    program.outputs.push_back(static_cast<int>(program.values.size()));
    program.values.push_back({DType::kFloat32, {rows, 4}, {4, 1}, offset, storage});
  }
  return program;
}

TEST(Aliasing, OnlyWhereTheReferenceSharesMemory) {
  const Program apart = returning({{1, 0, 2}, {2, 0, 2}});
  const Program halves = returning({{1, 0, 2}, {1, 8, 2}});
  const Program overlapping = returning({{1, 0, 2}, {1, 4, 2}});
  const Program of_input = returning({{1, 0, 2}, {0, 8, 2}});
  const Program empty = returning({{1, 0, 2}, {0, 0, 0}});
  for (const Program& fine : {apart, halves, empty}) EXPECT_EQ(aliasing_fault(apart, fine), "");
  EXPECT_NE(aliasing_fault(apart, overlapping).find("output 1 shares memory with output 0"),
            std::string::npos);
  EXPECT_NE(aliasing_fault(apart, of_input).find("output 1 is memory of an input"),
            std::string::npos);
  for (const Program& same : {overlapping, of_input}) EXPECT_EQ(aliasing_fault(same, same), "");
  EXPECT_EQ(aliasing_fault(of_input, apart), "");  // copies are no harm
}

TEST(Verdict, JsonRoundTrip) {
  Verdict verdict;
  verdict.outcome = Verdict::Outcome::kRejected;
  verdict.rejected_at = Stage::kCoverage;
  verdict.reason = "no kernel";
  verdict.speedup_eager = Interval{2, 1.9, 2.1};
  verdict.stages = {{Stage::kLoad, true, "", {{"x", 1}}, 0.5},
                    {Stage::kCoverage, false, "no", {}, 1}};
  verdict.configurations = {{"k", "BLOCK=64", "", 0.5, true},
                            {"k", "BLOCK=128", "too much shared memory", 0, false}};
  verdict.program = "a hash";
  verdict.file = FileDoes::kOther;
  const Json json = to_json(verdict);
  EXPECT_EQ(json["configurations"][1]["device_ms"], nullptr);
  EXPECT_EQ(to_json(verdict_from_json(JsonReader(json, ""))), json);
}

JobFault fault(const char* job, const char* code = "",
               JobResult::Status status = JobResult::Status::kRefused) {
  return {.status = status, .code = code, .message = "no", .job = job};
}

TEST(Verdict, ABuildEndsItAtTheStageOfItsJob) {
  using Status = JobResult::Status;
  const auto ended = [](const JobFault& fault) {
    Verdict verdict;
    end_unbuilt(verdict, fault);
    return verdict.rejected_at;
  };
  EXPECT_EQ(ended(fault("", "syntax")), Stage::kLoad);
  EXPECT_EQ(ended(fault("record", "missing")), Stage::kLoad);
  EXPECT_EQ(ended(fault("record", "operator")), Stage::kRecord);
  EXPECT_EQ(ended(fault("record", "", Status::kTimeout)), Stage::kRecord);
  EXPECT_EQ(ended(fault("slice", "slice")), Stage::kCompile);
  EXPECT_EQ(ended(fault("compile", "", Status::kTimeout)), Stage::kCompile);
  EXPECT_EQ(ended(fault("compile", "", Status::kKilled)), Stage::kCompile);
  EXPECT_EQ(ended(fault("compile", "", Status::kFailed)), std::nullopt);
}

// A build that starts again with other configurations may fail where it had passed before.
TEST(Verdict, StagesAfterTheOneThatFailsAreNotThere) {
  Verdict verdict;
  verdict.stages = {{Stage::kLoad, true}, {Stage::kRecord, true}, {Stage::kCompile, true}};
  end_unbuilt(verdict, fault("record", "operator"), 2.5);
  ASSERT_EQ(verdict.stages.size(), 2u);
  EXPECT_TRUE(verdict.stages[0].passed);
  EXPECT_EQ(verdict.stages[1].stage, Stage::kRecord);
  EXPECT_FALSE(verdict.stages[1].passed);
  EXPECT_EQ(verdict.stages[1].seconds, 2.5);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kRejected);
  EXPECT_EQ(verdict.reason, "no [operator]");
}

TEST(Verdict, AWorkersFaultIsNotTheCandidates) {
  Verdict verdict;
  end_unbuilt(verdict, fault("compile", "", JobResult::Status::kFailed));
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::kNotJudged);
  ASSERT_EQ(verdict.stages.size(), 1u);
  EXPECT_EQ(verdict.stages[0].stage, Stage::kCompile);
}

TEST(Floor, OutputsMustBeWritten) {
  DeviceProfile profile;
  profile.bytes_per_second = 1e9;
  profile.half_flops = 1e12;
  EXPECT_DOUBLE_EQ(physical_floor(aten_task(), profile), 4096 / 1e9);
  profile.l2_bytes = 1024;  // the rest may still be on its way to memory
  EXPECT_DOUBLE_EQ(physical_floor(aten_task(), profile), 3072 / 1e9);
  profile.l2_bytes = 8192;
  EXPECT_DOUBLE_EQ(physical_floor(aten_task(), profile), 0);
}

// The sum over the 512 features of a linear layer is a product with one feature: an answer that is
// faster than the whole product is not too fast.
TEST(Floor, ProductsThatAlgebraSparesAreNotNeeded) {
  DeviceProfile profile;
  profile.bytes_per_second = 1e30;
  profile.half_flops = 1e12;
  Task task;
  const Value weight{DType::kFloat32, {512, 32}, {32, 1}, 0, 0};
  task.state = {{{"w"}, "parameter"}};
  task.init.values = task.derive.values = task.inputs.values = {weight};
  task.init.outputs = task.derive.inputs = task.inputs.inputs = {0};
  Program& p = task.forward;
  p.values = {weight,
              {DType::kFloat32, {64, 32}, {32, 1}, 0, 1},
              {DType::kFloat32, {64, 512}, {512, 1}, 0, 2},
              {DType::kFloat32, {64}, {1}, 0, 3}};
  p.inputs = {0, 1};
  p.steps.resize(2);
  p.steps[0] = AtenCall{
      "aten.linear.default", {{"input", {ValueRef{1}}}, {"weight", {ValueRef{0}}}}, {2}, {}};
  p.steps[1] = AtenCall{
      "aten.sum.dim_IntList", {{"self", {ValueRef{2}}}, {"dim", {ArgList{{int64_t{1}}}}}}, {3}, {}};
  p.outputs = {3};
  EXPECT_DOUBLE_EQ(physical_floor(task, profile), 2.0 * 64 * 32 / 1e12);
  p.outputs = {2};
  EXPECT_DOUBLE_EQ(physical_floor(task, profile), 2.0 * 64 * 32 * 512 / 1e12);
}

}  // namespace
}  // namespace kw
