// Trials of candidates that are right, and of candidates that are wrong in one way each. The
// kernels are C++ functions, so that each fault is exactly the one meant.
#include "executor/trial/trial.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "executor/trial/test_trial.h"

namespace kw::exec {
namespace {

// Other candidates get the same inputs, and their kernels may find freed memory.
TEST_P(TrialTest, NoAnswerIsLeftInMemory) {
  std::vector<std::pair<at::Tensor, at::Tensor>> answers;  // where it was written, what it was
  backend_.kernels["exp_mul"] = [&](std::span<const at::Tensor> t) {
    exp_mul(t);
    answers.emplace_back(t[2], t[2].clone());
  };
  TrialRequest request;
  request.check_noop = request.each_launch = true;
  const TrialReport report = run(reference_task(), kernel_task(), request);
  EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
  if (GetParam()) return;  // isolated: no kernel reaches them
  ASSERT_FALSE(answers.empty());
  for (const auto& [place, answer] : answers) EXPECT_FALSE(at::equal(place, answer));
}

// Values between steps are not left in memory either.
TEST_P(TrialTest, NoValueBetweenStepsIsLeftInMemory) {
  const auto value = [](int storage) { return value_json("float32", {kN}, storage); };
  const Json negated = step_json("aten.neg.default", {{"self", v(0)}}, {2});
  const auto empty = [](int id) {
    return step_json("aten.empty.memory_format", {{"size", {kN}}}, {id});
  };
  const auto exp_mul_of = [](int id, int to) {
    return std::array{step_json("aten.exp.default", {{"self", v(id)}}, {to}),
                      step_json("aten.mul.Tensor", {{"self", v(to)}, {"other", v(1)}}, {to + 1})};
  };
  const auto [exp, mul] = exp_mul_of(2, 3);
  const auto [second_exp, second_mul] = exp_mul_of(4, 5);
  const Task reference =
      make_task(random_inputs({{kN}, {kN}}),
                make_program({value(0), value(1), value(2), value(3), value(4), value(5), value(6)},
                             {0, 1}, {negated, exp, mul, second_exp, second_mul}, {6}));
  const std::vector<Kernel> kernels = {make_kernel("kept", {"*fp32", "*fp32", "*fp32"}, {2})};
  const Task candidate =
      make_task(random_inputs({{kN}, {kN}}),
                make_program({value(0), value(1), value(2), value(3), value(4)}, {0, 1},
                             {negated, empty(3), launch_json(0, {v(2), v(1), v(3)}), empty(4),
                              launch_json(0, {v(3), v(1), v(4)})},
                             {4}, kernels),
                kernels);
  std::vector<std::pair<at::Tensor, at::Tensor>> values;  // where each was, what it was
  backend_.kernels["kept"] = [&](std::span<const at::Tensor> t) {
    exp_mul(t);
    for (int i : {0, 2}) values.emplace_back(t[i], t[i].clone());
  };
  const TrialReport report = run(reference, candidate);
  EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_TRUE(within(report.outputs.at(0)));
  if (GetParam()) return;  // isolated: no kernel reaches them
  ASSERT_EQ(values.size(), 4u);
  for (const auto& [place, was] : values) EXPECT_FALSE(at::equal(place, was));
}

// In y / (x + z) the divisor is near zero somewhere, so inputs a unit off change that element by
// many units. In half types a unit is coarser than what kernels compute in, and does not count.
TEST_P(TrialTest, PerturbedInputsShowWhatIsLuckIfFewElementsErr) {
  constexpr int64_t kMany = 4096;
  const auto quotient = [&](const std::string& dtype) {
    const auto value = [&](int storage) { return value_json(dtype, {kMany}, storage); };
    Json draw = Json::array();
    const Json size = {kMany};
    for (int i = 0; i < 3; ++i) {
      draw.push_back(
          step_json("aten.randn.default", {{"size", size}, {"dtype", {{"dtype", dtype}}}}, {i}));
    }
    return make_task(
        make_program({value(0), value(1), value(2)}, {}, draw, {0, 1, 2}),
        make_program({value(0), value(1), value(2), value(3), value(4)}, {0, 1, 2},
                     {step_json("aten.add.Tensor", {{"self", v(0)}, {"other", v(1)}}, {3}),
                      step_json("aten.div.Tensor", {{"self", v(2)}, {"other", v(3)}}, {4})},
                     {4}));
  };
  for (const auto& [dtype, counts] : {std::pair{"float32", true}, {"float16", false}}) {
    double plain = 0, perturbed = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      TrialRequest request;
      request.seed = seed;
      plain += run(quotient(dtype), quotient(dtype), request).outputs.at(0).reference_rms;
      request.neighbours = true;
      perturbed += run(quotient(dtype), quotient(dtype), request).outputs.at(0).reference_rms;
    }
    if (counts)
      EXPECT_GT(perturbed, 1.2 * plain);
    else
      EXPECT_EQ(perturbed, plain);
  }
}

// All x lie within a dozen units in the last place, and x / 4 has no rounding. A kernel that is
// right to a unit may find another largest element, and perturbed inputs show that.
TEST_P(TrialTest, PerturbedInputsShowWhichIndicesAreNearTies) {
  const Json one = {1, kN};
  const auto value = [&](const char* dtype, const Json& sizes, int storage) {
    return value_json(dtype, sizes, storage);
  };
  const Program draw = make_program(
      {value("float32", one, 0), value("float32", one, 1), value("float32", one, 2)}, {},
      {step_json("aten.rand.default", {{"size", one}}, {0}),
       step_json("aten.mul.Scalar", {{"self", v(0)}, {"other", 4e-7}}, {1}),
       step_json("aten.add.Scalar", {{"self", v(1)}, {"other", 0.3}}, {2})},
      {2});
  const Json maximum = step_json("aten.argmax.default", {{"self", v(1)}, {"dim", 1}}, {2});
  const Program forward = make_program(
      {value("float32", one, 0), value("float32", one, 1), value("int64", {1}, 2)}, {0},
      {step_json("aten.mul.Scalar", {{"self", v(0)}, {"other", 0.25}}, {1}), maximum}, {2});
  const std::vector<Kernel> kernels = {make_kernel("least", {"*fp32", "*i64"}, {1})};
  const Task candidate =
      make_task(draw,
                make_program({value("float32", one, 0), value("int64", {1}, 1)}, {0},
                             {step_json("aten.empty.memory_format",
                                        {{"size", {1}}, {"dtype", {{"dtype", "int64"}}}}, {1}),
                              launch_json(0, {v(0), v(1)})},
                             {1}, kernels),
                kernels);
  backend_.kernels["least"] = [](std::span<const at::Tensor> t) {
    at::Tensor(t[1]).copy_(t[0].argmin(1));
  };
  const auto wrong = [&](bool perturbed) {
    TrialRequest request;
    request.neighbours = perturbed;
    return run(make_task(draw, forward), candidate, request).outputs.at(0).int_mismatch;
  };
  EXPECT_EQ(wrong(false), 1);
  EXPECT_EQ(wrong(true), 0);
}

// In x y / z some z are zero, and elements that are not finite are not compared. Perturbed inputs
// count for the rest as they do elsewhere.
TEST_P(TrialTest, PerturbedInputsCountWhereAReferenceIsFinite) {
  const auto value = [&](int storage) { return value_json("float32", {kN}, storage); };
  const Task task =
      make_task(random_inputs({{kN}, {kN}, {kN}}),
                make_program({value(0), value(1), value(2), value(3), value(4)}, {0, 1, 2},
                             {step_json("aten.mul.Tensor", {{"self", v(0)}, {"other", v(1)}}, {3}),
                              step_json("aten.div.Tensor", {{"self", v(3)}, {"other", v(2)}}, {4})},
                             {4}));
  TrialRequest request;
  request.variation = Variation::kZeros;
  const OutputErrors plain = run(task, task, request).outputs.at(0);
  request.neighbours = true;
  const OutputErrors perturbed = run(task, task, request).outputs.at(0);
  EXPECT_FALSE(plain.reference_finite);
  EXPECT_GT(plain.finite, kN / 4);
  EXPECT_GT(perturbed.reference_rms, 1.2 * plain.reference_rms);
}

// In each row at most one element is not zero, and that one is what 1 rounds to in its place. How
// far off it is in the reference is luck, and in one of 65536 rows much luck. A candidate that adds
// another number is as good.
TEST_P(TrialTest, PerturbedInputsShowWhatIsLuckInRowsOfOneElement) {
  const Json size = {1 << 16, 16};
  const auto value = [&](int storage) { return value_json("float32", {1 << 16, 16}, storage); };
  const Program draw =
      make_program({value(0)}, {}, {step_json("aten.randn.default", {{"size", size}}, {0})}, {0});
  const auto of_previous = [](const char* op, const char* name, double number, int result) {
    return step_json(op, {{"self", v(result - 1)}, {name, number}}, {result});
  };
  const Task reference = make_task(
      draw, make_program({value(0), value(1), value(2), value(3), value(4), value(5)}, {0},
                         {of_previous("aten.sub.Scalar", "other", 2.2, 1),
                          step_json("aten.relu.default", {{"self", v(1)}}, {2}),
                          of_previous("aten.mul.Scalar", "other", 1e-6, 3),
                          of_previous("aten.add.Scalar", "other", 1, 4),
                          of_previous("aten.sub.Scalar", "other", 1, 5)},
                         {5}));
  const std::vector<Kernel> kernels = {make_kernel("near_three", {"*fp32", "*fp32"}, {1})};
  const Task candidate =
      make_task(draw,
                make_program({value(0), value(1)}, {0},
                             {step_json("aten.empty_like.default", {{"self", v(0)}}, {1}),
                              launch_json(0, {v(0), v(1)})},
                             {1}, kernels),
                kernels);
  backend_.kernels["near_three"] = [](std::span<const at::Tensor> t) {
    at::Tensor(t[1]).copy_(at::relu(t[0] - 2.2).mul(1e-6).add(2.7).sub(2.7));
  };
  TrialRequest request;
  request.variation = Variation::kZeros;
  EXPECT_GT(run(reference, candidate, request).outputs.at(0).section_excess, 1);
  request.neighbours = true;
  const TrialReport perturbed = run(reference, candidate, request);
  expect_clean(perturbed);
  EXPECT_TRUE(within(perturbed.outputs.at(0)));
  EXPECT_LE(perturbed.outputs.at(0).section_excess, 1);
  backend_.kernels["near_three"] = [](std::span<const at::Tensor> t) { at::Tensor(t[1]).zero_(); };
  EXPECT_FALSE(within(run(reference, candidate, request).outputs.at(0)));
}

INSTANTIATE_TEST_SUITE_P(Isolation, TrialTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "isolated" : "shared"; });

TEST_P(TrialTest, ARightCandidateIsRight) {
  for (Variation variation :
       {Variation::kPlain, Variation::kScaleDown, Variation::kScaleUp, Variation::kNegative,
        Variation::kMixedSigns, Variation::kAffine, Variation::kUneven, Variation::kZeros,
        Variation::kParameters, Variation::kUsed}) {
    const TrialReport report = run(reference_task(), kernel_task(), {.variation = variation});
    expect_clean(report);
    ASSERT_EQ(report.outputs.size(), 1u);
    EXPECT_TRUE(within(report.outputs[0])) << variation_name(variation);
    EXPECT_GT(report.outputs[0].reference_rms, 0);
    EXPECT_LT(report.outputs[0].reference_rms, 4e-6);
    EXPECT_EQ(report.outputs[0].dtype, "float32");
    EXPECT_TRUE(report.outputs[0].reference_finite);
  }
}

TEST_P(TrialTest, TheReferenceEqualsItself) {
  const TrialReport report = run(reference_task(), reference_task());
  expect_clean(report);
  EXPECT_TRUE(report.outputs[0].exact_equal);
  EXPECT_LE(report.outputs[0].candidate_rms, report.outputs[0].reference_rms);
}

TEST_P(TrialTest, VariationsChangeTheInputsAsNamed) {
  std::map<Variation, at::Tensor> seen;
  for (Variation variation :
       {Variation::kPlain, Variation::kScaleDown, Variation::kScaleUp, Variation::kNegative,
        Variation::kMixedSigns, Variation::kUneven, Variation::kZeros, Variation::kBlank,
        Variation::kNotFinite, Variation::kConstant}) {
    run_wrong([&](std::span<const at::Tensor> t) { seen[variation] = t[0].clone(); },
              {.variation = variation});
  }
  const at::Tensor x = seen[Variation::kPlain];
  EXPECT_TRUE(at::allclose(seen[Variation::kScaleDown], x * 0.1));
  EXPECT_TRUE(at::allclose(seen[Variation::kScaleUp], x * 10));
  EXPECT_TRUE(at::equal(seen[Variation::kNegative], -x.abs()));
  EXPECT_TRUE(at::equal(seen[Variation::kConstant], x[0].expand({kN})));
  EXPECT_TRUE(seen[Variation::kBlank].eq(0).all().item<bool>());
  EXPECT_TRUE(seen[Variation::kNotFinite].isnan().any().item<bool>());
  EXPECT_GT(seen[Variation::kNotFinite].isfinite().sum().item<int64_t>(), kN / 2);
  EXPECT_TRUE(at::equal(seen[Variation::kMixedSigns].abs(), x.abs()));
  EXPECT_GT(seen[Variation::kMixedSigns].ne(x).sum().item<int64_t>(), 5);
  EXPECT_GT(seen[Variation::kMixedSigns].eq(x).sum().item<int64_t>(), 5);
  const at::Tensor scale = seen[Variation::kUneven] / x, large = scale.ge(9.9);
  EXPECT_LE(scale.max().item<double>(), 10.01);
  EXPECT_TRUE(large[0].item<bool>() && large[-1].item<bool>()) << "the ends are large";
  EXPECT_LE(large.sum().item<int64_t>(), 8);
  const at::Tensor rest = scale.masked_select(large.logical_not());
  EXPECT_LT(rest.max().item<double>(), 0.2);
  EXPECT_GT(rest.max().item<double>(), rest.min().item<double>() * 1.9);
  const at::Tensor z = seen[Variation::kZeros];
  EXPECT_GE(z.eq(0).sum().item<int64_t>(), 1);
  EXPECT_LT(z.eq(0).sum().item<int64_t>(), kN / 2);
  EXPECT_TRUE(z.eq(0).logical_or(z.eq(x)).all().item<bool>());
}

TEST_P(TrialTest, SeedsDecideTheInputs) {
  std::vector<at::Tensor> seen;
  for (uint64_t seed : {1, 1, 2}) {
    run_wrong([&](std::span<const at::Tensor> t) { seen.push_back(t[0].clone()); }, {.seed = seed});
  }
  const size_t step = seen.size() / 3;
  EXPECT_TRUE(at::equal(seen[0], seen[step]));
  EXPECT_FALSE(at::equal(seen[0], seen[2 * step]));
}

TEST_P(TrialTest, OneWrongElementShows) {
  const TrialReport report =
      run_wrong([](std::span<const at::Tensor> t) { data(t[2])[17] *= 1.001f; });
  EXPECT_FALSE(within(report.outputs[0]));
  EXPECT_FALSE(report.outputs[0].exact_equal);
}

TEST_P(TrialTest, OneUnwrittenElementShows) {
  backend_.kernels["exp_mul"] = [](std::span<const at::Tensor> t) {
    const float kept = data(t[2])[kN - 1];
    exp_mul(t);
    data(t[2])[kN - 1] = kept;
  };
  EXPECT_EQ(run(reference_task(), kernel_task()).outputs[0].nonfinite_mismatch, 1);
}

// The task computes x += y, and exp(y). A launch or PyTorch adds.
Task update_task(bool launch) {
  std::vector<Kernel> kernels;
  if (launch) kernels = {make_kernel("add_to", {"*fp32", "*fp32"}, {0})};
  Json values = {value_json("float32", {kN}, 0), value_json("float32", {kN}, 1),
                 value_json("float32", {kN}, 2)};
  Json steps = Json::array();
  if (launch) {
    steps.push_back(launch_json(0, {v(0), v(1)}));
  } else {
    values.push_back(value_json("float32", {kN}, 0));
    steps.push_back(step_json("aten.add_.Tensor", {{"self", v(0)}, {"other", v(1)}}, {3}, {0}));
  }
  steps.push_back(step_json("aten.exp.default", {{"self", v(1)}}, {2}));
  return make_task(random_inputs({{kN}, {kN}}), make_program(values, {0, 1}, steps, {2}, kernels),
                   kernels);
}

TEST_P(TrialTest, AnUpdateInPlaceIsAnAnswerToo) {
  backend_.kernels["add_to"] = [](std::span<const at::Tensor> t) {
    for (int64_t i = 0; i < kN; ++i) data(t[0])[i] += data(t[1])[i];
  };
  TrialRequest request;
  request.check_noop = request.each_launch = true;
  const TrialReport report = run(update_task(false), update_task(true), request);
  expect_clean(report);
  EXPECT_TRUE(report.no_launch_changes);
  EXPECT_TRUE(report.idle_launches.empty());
  backend_.kernels["add_to"] = [](std::span<const at::Tensor>) {};
  EXPECT_FALSE(run(update_task(false), update_task(true), request).no_launch_changes);
}

TEST_P(TrialTest, InputsMustNotChange) {
  const TrialReport report = run_wrong([](std::span<const at::Tensor> t) { data(t[1])[3] += 1; });
  EXPECT_FALSE(report.inputs_unchanged);
  EXPECT_EQ(report.difference, "input 1 was overwritten");
  EXPECT_TRUE(within(report.outputs[0])) << "the reference had its own inputs";
}

// What PyTorch made (zeros, a sum) gets guards as soon as a launch reads or writes it.
TEST_P(TrialTest, WritingOutsideOfWhatPyTorchMadeIsSeen) {
  Task candidate = kernel_task();
  std::get<AtenCall>(candidate.forward.steps[0]).op = "aten.zeros.default";
  for (int64_t at : {int64_t{0}, int64_t{-1}, kN, kN + 100}) {
    backend_.kernels["exp_mul"] = [at](std::span<const at::Tensor> t) {
      exp_mul(t);
      if (at != 0) data(t[2])[at] = 5;
    };
    const TrialReport report = run(reference_task(), candidate);
    EXPECT_EQ(report.guards_intact, at == 0) << at;
  }
}

TEST_P(TrialTest, WritingOutsideABufferIsSeen) {
  for (int buffer : {0, 1, 2}) {
    for (int64_t at : {int64_t{-1}, kN, kN + 100}) {
      const TrialReport report =
          run_wrong([=](std::span<const at::Tensor> t) { data(t[buffer])[at] = 0; });
      EXPECT_FALSE(report.guards_intact) << buffer << " " << at;
    }
  }
}

TEST_P(TrialTest, ReadingOutsideABufferGivesNaN) {
  const TrialReport report =
      run_wrong([](std::span<const at::Tensor> t) { data(t[2])[0] += 0 * data(t[0])[kN]; });
  EXPECT_EQ(report.outputs[0].nonfinite_mismatch, 1);
}

// Nothing that equals the answer is in memory while the candidate runs.
TEST_P(TrialTest, StaleAnswersAreNotRight) {
  at::Tensor first;
  backend_.kernels["exp_mul"] = [&](std::span<const at::Tensor> t) {
    exp_mul(t);
    if (!first.defined()) first = t[2].clone();
    at::Tensor(t[2]).copy_(first);
  };
  LoadedTask reference(reference_task(), backend_), candidate(kernel_task(), backend_);
  Trials trials(backend_);
  EXPECT_TRUE(within(trials.run({1, 2, 5}, reference, candidate).outputs[0]));
  EXPECT_FALSE(within(trials.run({1, 2, 6}, reference, candidate).outputs[0]));
}

TEST_P(TrialTest, CachedReferencesGiveTheSameReport) {
  LoadedTask reference(reference_task(), backend_), candidate(kernel_task(), backend_);
  Trials trials(backend_);
  for (Variation variation : {Variation::kPlain, Variation::kAffine}) {
    std::vector<Json> reports;
    for (int i = 0; i < 3; ++i) {
      if (i == 2) trials.forget(1);
      TrialReport report = trials.run({1, 2, 5, variation}, reference, candidate);
      report.seconds = 0;
      report.phases.clear();
      reports.push_back(to_json(report));
    }
    EXPECT_EQ(reports[0], reports[1]);
    EXPECT_EQ(reports[0], reports[2]);
  }
}

TEST_P(TrialTest, MetadataIsCompared) {
  Task other = kernel_task();
  other.result = {{"list", {{{"out", 0}}}}};
  TrialReport report = run(reference_task(), other);
  EXPECT_FALSE(report.outputs[0].same_meta);
  Task reshaped = make_task(
      random_inputs({{kN}, {kN}}),
      make_program({value_json("float32", {kN}, 0), value_json("float32", {kN}, 1),
                    value_json("float32", {kN, 1}, 0)},
                   {0, 1}, {step_json("aten.unsqueeze.default", {{"self", v(0)}, {"dim", 1}}, {2})},
                   {2}));
  report = run(reference_task(), reshaped);
  EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_FALSE(report.outputs[0].same_meta);
}

TEST_P(TrialTest, FaultsNameTheirSide) {
  backend_.kernels["exp_mul"] = [](std::span<const at::Tensor>) {
    throw ReplayError("illegal access");
  };
  TrialReport report = run(reference_task(), kernel_task());
  EXPECT_EQ(report.status, ReplyStatus::kFailed);
  EXPECT_EQ(report.fault, Side::kCandidate);
  EXPECT_EQ(report.message, "candidate: step 1 (launch of exp_mul): illegal access");
  backend_.kernels["exp_mul"] = [](std::span<const at::Tensor>) { throw NotJudged("too slow"); };
  report = run(reference_task(), kernel_task());
  EXPECT_EQ(report.status, ReplyStatus::kNotJudged);
  report = run(kernel_task(), reference_task());
  EXPECT_EQ(report.status, ReplyStatus::kNotJudged);
  EXPECT_EQ(report.fault, Side::kReference);
}

// PyTorch's allocators, libraries with separate memory, and the driver say it differently.
TEST_P(TrialTest, LackOfMemoryIsNoFault) {
  const std::vector<std::function<void()>> faults = {
      [] { throw std::bad_alloc(); },
      [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate"); },
      [] {
        throw std::runtime_error(
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`");
      },
      [] { throw std::runtime_error("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"); },
      [] { throw std::runtime_error("CUDA error: out of memory\nCUDA kernel errors might be"); },
      [] { throw ReplayError("loading: out of memory"); }};
  for (const auto& fault : faults) {
    backend_.kernels["exp_mul"] = [&](std::span<const at::Tensor>) { fault(); };
    const TrialReport report = run(reference_task(), kernel_task());
    EXPECT_EQ(report.status, ReplyStatus::kNotJudged);
    EXPECT_EQ(report.cause, Cause::kOutOfMemory);
    EXPECT_EQ(report.message, "candidate: step 1 (launch of exp_mul): out of memory");
  }
}

// Makes the memory of a tensor such that it cannot be overwritten any more.
void make_read_only(const at::Tensor& tensor) {
  tensor.storage().unsafeGetStorageImpl()->set_throw_on_mutable_data_ptr();
}

// An answer that stays in memory could be found by the next candidate.
TEST_P(TrialTest, AnAnswerThatCannotBeOverwrittenIsNotJudged) {
  if (backend_.is_isolated) return;  // no kernel can find it
  const TrialReport report = run_wrong([](std::span<const at::Tensor> t) { make_read_only(t[2]); });
  EXPECT_EQ(report.status, ReplyStatus::kNotJudged);
  EXPECT_EQ(report.fault, Side::kCandidate);
  EXPECT_TRUE(report.message.starts_with("candidate: an answer could not be overwritten: "))
      << report.message;
  backend_.is_lost = true;
  EXPECT_THROW(run_wrong([](std::span<const at::Tensor> t) { make_read_only(t[2]); }), DeviceLost);
}

TEST_P(TrialTest, WhatAFailedRunLeavesMustBeOverwritten) {
  const FakeKernel fails = [](std::span<const at::Tensor> t) {
    make_read_only(t[2]);
    throw ReplayError("illegal access");
  };
  const TrialReport report = run_wrong(fails);
  EXPECT_EQ(report.status, ReplyStatus::kNotJudged);
  EXPECT_TRUE(
      report.message.starts_with("candidate: what a failed run left could not be overwritten: "))
      << report.message;
  backend_.is_lost = true;
  EXPECT_THROW(run_wrong(fails), DeviceLost);
}

TEST_P(TrialTest, DegenerateTasksAreFlagged) {
  const auto constant = [](const std::string& op) {
    return make_task(random_inputs({{kN}}),
                     make_program({value_json("float32", {kN}, 0), value_json("float32", {kN}, 1)},
                                  {0}, {step_json(op, {{"self", v(0)}}, {1})}, {1}));
  };
  TrialReport report =
      run(constant("aten.zeros_like.default"), constant("aten.zeros_like.default"));
  EXPECT_TRUE(report.passes_zeros && report.passes_stale);
  report = run(constant("aten.ones_like.default"), constant("aten.ones_like.default"));
  EXPECT_FALSE(report.passes_zeros);
  EXPECT_TRUE(report.passes_stale);
}

// Returns a model with parameters, y = x * scale + shift, and a counter buffer that each call
// advances.
Task affine_task(bool use_shift, double advance) {
  Task task;
  task.state = {
      {{"norm.weight"}, "parameter"}, {{"norm.bias"}, "parameter"}, {{"steps"}, "buffer"}};
  const auto three = [] {
    return Json::array({value_json("float32", {8}, 0), value_json("float32", {8}, 1),
                        value_json("float32", {}, 2)});
  };
  task.init = make_program(three(), {},
                           {step_json("aten.ones.default", {{"size", {8}}}, {0}),
                            step_json("aten.zeros.default", {{"size", {8}}}, {1}),
                            step_json("aten.zeros.default", {{"size", Json::array()}}, {2})},
                           {0, 1, 2});
  task.derive = make_program(three(), {0, 1, 2}, Json::array(), {});
  Json values = three();
  values.push_back(value_json("float32", {4, 8}, 3));
  task.inputs = make_program(values, {0, 1, 2},
                             {step_json("aten.randn.default", {{"size", {4, 8}}}, {3})}, {3});
  values.push_back(value_json("float32", {4, 8}, 4));
  values.push_back(value_json("float32", {4, 8}, 5));
  values.push_back(value_json("float32", {}, 2));
  task.forward = make_program(
      values, {0, 1, 2, 3},
      {step_json("aten.mul.Tensor", {{"self", v(3)}, {"other", v(0)}}, {4}),
       step_json("aten.add.Tensor", {{"self", v(4)}, {"other", use_shift ? v(1) : Json(0)}}, {5}),
       step_json("aten.add_.Tensor", {{"self", v(2)}, {"other", advance}}, {6}, {2})},
      {5});
  task.arguments = Json::array({{{"in", 0}}});
  task.result = {{"out", 0}};
  check_task(task);
  return task;
}

TEST_P(TrialTest, ParametersLeftAtTheirDefaultsAreVaried) {
  const Task reference = affine_task(true, 1), careless = affine_task(false, 1);
  TrialReport report = run(reference, careless);
  expect_clean(report);
  EXPECT_TRUE(within(report.outputs[0])) << "a shift of zero cannot be missed";
  report = run(reference, careless, {.variation = Variation::kAffine});
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_FALSE(within(report.outputs[0]));
  report = run(reference, reference, {.variation = Variation::kAffine});
  expect_clean(report);
  EXPECT_TRUE(report.outputs[0].exact_equal);
}

// Compares x @ w with a kernel that takes `taken` of its columns and rows.
TEST_P(TrialTest, IntegersShowOneMissingProduct) {
  constexpr int64_t kM = 8, kK = 64;
  const Program inputs = random_inputs({{kM, kK}, {kK, kM}});
  const Task reference = make_task(
      inputs,
      make_program({value_json("float32", {kM, kK}, 0), value_json("float32", {kK, kM}, 1),
                    value_json("float32", {kM, kM}, 2)},
                   {0, 1}, {step_json("aten.mm.default", {{"self", v(0)}, {"mat2", v(1)}}, {2})},
                   {2}));
  const std::vector<Kernel> kernels = {make_kernel("product", {"*fp32", "*fp32", "*fp32"}, {2})};
  const Task candidate = make_task(
      inputs,
      make_program({value_json("float32", {kM, kK}, 0), value_json("float32", {kK, kM}, 1),
                    value_json("float32", {kM, kM}, 2)},
                   {0, 1},
                   {step_json("aten.empty.memory_format", {{"size", {kM, kM}}}, {2}),
                    launch_json(0, {v(0), v(1), v(2)})},
                   {2}, kernels),
      kernels);
  for (int64_t taken : {kK, kK - 1}) {
    backend_.kernels["product"] = [taken](std::span<const at::Tensor> t) {
      for (int64_t i = 0; i < kM * kM; ++i) {
        float sum = 0;
        for (int64_t k = taken - 1; k >= 0; --k) {
          sum += data(t[0])[i / kM * kK + k] * data(t[1])[k * kM + i % kM];
        }
        data(t[2])[i] = sum;
      }
    };
    const TrialReport report = run(reference, candidate, {.variation = Variation::kIntegers});
    expect_clean(report);
    EXPECT_EQ(report.outputs[0].integers, kM * kM);
    // No product of float32 is zero.
    EXPECT_EQ(report.outputs[0].integers_wrong, taken == kK ? 0 : kM * kM);
  }
}

TEST_P(TrialTest, IntegersSayNothingOfOtherResults) {
  const TrialReport report =
      run(reference_task(), kernel_task(), {.variation = Variation::kIntegers});
  expect_clean(report);
  EXPECT_EQ(report.outputs[0].integers, 0) << "exp of an integer";
}

TEST_P(TrialTest, ParametersAreIntegersOnBothSides) {
  const Task task = affine_task(true, 1);
  const TrialReport report = run(task, task, {.variation = Variation::kIntegers});
  expect_clean(report);
  EXPECT_EQ(report.outputs[0].integers, 32);
  EXPECT_EQ(report.outputs[0].integers_wrong, 0);
}

TEST_P(TrialTest, BuffersMustBeUpdatedAlike) {
  const TrialReport report = run(affine_task(true, 1), affine_task(true, 2));
  EXPECT_FALSE(report.buffers_equal);
  EXPECT_EQ(report.difference, "buffer steps is updated otherwise");
  EXPECT_TRUE(report.inputs_unchanged);
}

// The reference's counter starts at 0: a candidate that sets it to 1 is right once.
TEST_P(TrialTest, BuffersAreAsEarlierCallsLeftThem) {
  const Task reference = affine_task(true, 1);
  Task sets = reference;
  auto& step = std::get<AtenCall>(sets.forward.steps[2]);
  step.op = "aten.fill_.Scalar";
  step.args["value"] = Arg{1.0};
  step.args.erase("other");
  TrialReport report = run(reference, sets);
  expect_clean(report);
  report = run(reference, sets, {.variation = Variation::kUsed});
  EXPECT_FALSE(report.buffers_equal);
  expect_clean(run(reference, reference, {.variation = Variation::kUsed}));
}

// One candidate takes a gain of the other sign, another takes one parameter for one that starts
// equal.
TEST_P(TrialTest, ParametersChangeSign) {
  const Task reference = affine_task(true, 1);
  for (const char* op : {"aten.abs.default", "aten.square.default"}) {
    Task careless = reference;  // abs(scale), or scale squared, is as good as long as it is 1
    Program& forward = careless.forward;
    const ValueId made = static_cast<ValueId>(forward.values.size());
    forward.values.push_back(forward.values[0]);
    forward.values.back().storage = 100;
    std::get<AtenCall>(forward.steps[0]).args["other"] = Arg{ValueRef{made}};
    forward.steps.insert(forward.steps.begin(),
                         AtenCall{op, {{"self", Arg{ValueRef{0}}}}, {made}, {}});
    TrialReport report = run(reference, careless);
    expect_clean(report);
    EXPECT_TRUE(within(report.outputs[0]));
    report = run(reference, careless, {.variation = Variation::kParameters});
    ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_FALSE(within(report.outputs[0])) << op;
  }
}

// The task computes x * scale + shift.
TEST_P(TrialTest, OneParameterIsVariedByItself) {
  const Task reference = affine_task(true, 1), careless = affine_task(false, 1);
  EXPECT_TRUE(within(
      run(reference, careless, {.variation = Variation::kParameters, .fixed = {1}}).outputs[0]));
  EXPECT_FALSE(within(
      run(reference, careless, {.variation = Variation::kParameters, .fixed = {0}}).outputs[0]));
}

// A buffer that the constructor makes of the weight is another tensor: later calls may find another
// one there. A candidate that makes it again is wrong. A table is the same in every model.
TEST_P(TrialTest, BuffersAreVariedApartFromTheirWeights) {
  Task reference = affine_task(true, 1);
  std::get<AtenCall>(reference.init.steps[0]) = {
      "aten.randn.default", {{"size", Arg{ArgList{Arg{int64_t{8}}}}}}, {0}, {}};
  std::get<AtenCall>(reference.init.steps[1]) = {
      "aten.exp.default", {{"self", Arg{ValueRef{0}}}}, {1}, {}};
  reference.state[1].kind = "buffer";
  Task again = reference;  // y = x * scale + exp(scale)
  Program& forward = again.forward;
  const ValueId made = static_cast<ValueId>(forward.values.size());
  forward.values.push_back(forward.values[1]);
  forward.values.back().storage = 100;
  std::get<AtenCall>(forward.steps[1]).args["other"] = Arg{ValueRef{made}};
  forward.steps.insert(forward.steps.begin(),
                       AtenCall{"aten.exp.default", {{"self", Arg{ValueRef{0}}}}, {made}, {}});
  expect_clean(run(reference, again));
  for (Variation variation : {Variation::kParameters, Variation::kAffine}) {
    const TrialReport report = run(reference, again, {.variation = variation});
    ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_FALSE(within(report.outputs[0]));
  }
  for (Task* task : {&reference, &again}) {
    std::get<AtenCall>(task->init.steps[0]) = {
        "aten.arange.default",
        {{"end", Arg{int64_t{8}}}, {"dtype", Arg{DType::kFloat32}}},
        {0},
        {}};
    task->state[0].kind = "buffer";
  }
  const TrialReport report = run(reference, again, {.variation = Variation::kParameters});
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_TRUE(within(report.outputs[0]));
}

TEST_P(TrialTest, CandidatesHaveTheReferencesState) {
  Task other = affine_task(true, 1);
  for (Program* program : {&other.init, &other.derive, &other.inputs, &other.forward}) {
    program->values[1].dtype = DType::kFloat64;
  }
  const TrialReport report = run(affine_task(true, 1), other);
  EXPECT_EQ(report.status, ReplyStatus::kFailed);
  EXPECT_EQ(report.fault, Side::kCandidate);
  EXPECT_EQ(report.message, "candidate: has other state than the reference");
}

}  // namespace
}  // namespace kw::exec
