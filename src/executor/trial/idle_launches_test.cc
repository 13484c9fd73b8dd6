// Tests which launches trials find to change nothing. The kernels are C++ functions.
#include "executor/trial/idle_launches.h"

#include <array>
#include <map>

#include "executor/trial/test_trial.h"

namespace kw::exec {
namespace {

using IdleLaunchesTest = TrialTest;
INSTANTIATE_TEST_SUITE_P(Isolation, IdleLaunchesTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "isolated" : "shared"; });

TEST_P(IdleLaunchesTest, WithoutLaunchesTheOutputMustChange) {
  const TrialRequest request{.check_noop = true, .each_launch = true};
  TrialReport report = run(reference_task(), kernel_task(), request);
  EXPECT_TRUE(report.no_launch_changes);
  EXPECT_TRUE(report.idle_launches.empty());

  // The work is done by operators; a decoy writes what nobody reads.
  std::vector<Kernel> kernels = {make_kernel("decoy", {"*fp32"}, {0})};
  backend_.kernels["decoy"] = [](std::span<const at::Tensor> t) { at::Tensor(t[0]).fill_(1); };
  Task decoy = reference_task();
  decoy.kernels = kernels;
  Json values = to_json(decoy.forward)["values"], steps = to_json(decoy.forward)["steps"];
  values.push_back(value_json("float32", {kN}, 4));
  steps.push_back(step_json("aten.empty.memory_format", {{"size", {kN}}}, {4}));
  steps.push_back(launch_json(0, {v(4)}));
  decoy.forward = make_program(values, {0, 1}, steps, {3}, kernels);
  report = run(reference_task(), decoy, request);
  EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_TRUE(within(report.outputs[0]));
  EXPECT_FALSE(report.no_launch_changes);
  EXPECT_EQ(report.idle_launches, std::vector<int>{3});
}

// A candidate with four outputs, each by one launch. One of them has a separate input. One more
// launch is the decoy, whose result the last launch reads for nothing. If it `hides` something,
// another launch needs what the decoy leaves elsewhere.
class ManyLaunches {
 public:
  static constexpr int kDecoy = 5;  // its step

  ManyLaunches(FakeBackend& backend, bool hides) {
    const auto kernel = [&](const char* name, size_t out, auto answer) {
      backend.kernels[name] = [this, name, out, answer](std::span<const at::Tensor> t) {
        ++runs[name];
        for (int64_t i = 0; i < kN; ++i) data(t[out])[i] = answer(data(t[0])[i], i);
        answers.emplace_back(t[out], t[out].clone());
      };
    };
    kernel("one", 1, [](float x, int64_t) { return x + 1; });
    kernel("two", 1, [](float x, int64_t) { return x * 2; });
    kernel("decoy", 1, [this](float x, int64_t i) { return hidden_[i] = x; });
    kernel("three", 1, [this, hides](float x, int64_t i) {
      return (hides ? std::exchange(hidden_[i], 0.f) : x) * 3;
    });
    kernel("four", 2, [](float x, int64_t) { return -x; });
  }

  static Task candidate() {
    std::vector<Kernel> kernels;
    for (const char* name : {"one", "two", "decoy", "three"}) {
      kernels.push_back(make_kernel(name, {"*fp32", "*fp32"}, {1}));
    }
    kernels.push_back(make_kernel("four", {"*fp32", "*fp32", "*fp32"}, {2}));
    Json steps = Json::array();
    for (int k = 0; k < 5; ++k) {
      steps.push_back(step_json("aten.empty.memory_format", {{"size", {kN}}}, {k + 2}));
      const Json input = v(k == 0 ? 1 : 0);
      steps.push_back(k < 4 ? launch_json(k, {input, v(k + 2)})
                            : launch_json(k, {input, v(4), v(6)}));
    }
    return make_task(random_inputs({{kN}, {kN}}),
                     make_program(values(7), {0, 1}, steps, {2, 3, 5, 6}, kernels), kernels);
  }
  static Task reference() {
    const auto times = [](int factor, int to) {
      return step_json("aten.mul.Scalar", {{"self", v(0)}, {"other", factor}}, {to});
    };
    return make_task(
        random_inputs({{kN}, {kN}}),
        make_program(values(6), {0, 1},
                     {step_json("aten.add.Scalar", {{"self", v(1)}, {"other", 1}}, {2}),
                      times(2, 3), times(3, 4), times(-1, 5)},
                     {2, 3, 4, 5}));
  }
  std::map<std::string, int> runs;
  std::vector<std::pair<at::Tensor, at::Tensor>>
      answers;  // where they were written, what they were

 private:
  static Json values(int count) {
    Json out = Json::array();
    for (int i = 0; i < count; ++i) out.push_back(value_json("float32", {kN}, i));
    return out;
  }
  std::array<float, kN> hidden_{};
};

TEST_P(IdleLaunchesTest, ALaunchIsLeftOutOfWhatNeedsItAlone) {
  for (const bool hides : {false, true}) {
    ManyLaunches many(backend_, hides);
    const TrialReport report =
        run(many.reference(), many.candidate(), {.check_noop = true, .each_launch = true});
    expect_clean(report);
    for (const OutputErrors& errors : report.outputs) EXPECT_TRUE(within(errors));
    EXPECT_TRUE(report.no_launch_changes);
    EXPECT_EQ(report.idle_launches,
              hides ? std::vector<int>() : std::vector<int>{ManyLaunches::kDecoy});
    // The judged run, that of its part alone, and those without the decoy, of which the last
    // output says nothing: it leaves what it hides to the first of them. And those without the
    // launch that, alone, does not give what it gives behind the decoy.
    EXPECT_EQ(many.runs["one"], 1 + 1 + (hides ? 3 + 2 : 2));
    // Later kernels may find what is freed.
    for (const auto& [place, answer] : many.answers) {
      EXPECT_TRUE(GetParam() || !at::equal(place, answer));
    }
  }
}

// Returns a candidate whose launches multiply its input by a number each, one after the other, and
// decoys which read it for nothing. `works` says which of its launches are no decoys.
Task chain(FakeBackend& backend, const std::vector<bool>& works, int& runs) {
  backend.kernels["times"] = [&runs](std::span<const at::Tensor> t) {
    ++runs;
    for (int64_t i = 0; i < kN; ++i) data(t[1])[i] = data(t[0])[i] * 1.5f;
  };
  const std::vector<Kernel> kernels = {make_kernel("times", {"*fp32", "*fp32"}, {1})};
  Json values = Json::array({value_json("float32", {kN}, 0)}), steps = Json::array();
  int last = 0;
  for (const bool counts : works) {
    const auto id = static_cast<int>(values.size());
    values.push_back(value_json("float32", {kN}, id));
    steps.push_back(step_json("aten.empty.memory_format", {{"size", {kN}}}, {id}));
    steps.push_back(launch_json(0, {v(last), v(id)}));
    if (counts) last = id;
  }
  return make_task(random_inputs({{kN}}), make_program(values, {0}, steps, {last}, kernels),
                   kernels);
}

TEST_P(IdleLaunchesTest, ManyLaunchesAreNotAllLeftOut) {
  constexpr int kLaunches = 64;
  const auto power = [](int times) {
    Json values = Json::array({value_json("float32", {kN}, 0)}), steps = Json::array();
    for (int i = 0; i < times; ++i) {
      values.push_back(value_json("float32", {kN}, i + 1));
      steps.push_back(step_json("aten.mul.Scalar", {{"self", v(i)}, {"other", 1.5}}, {i + 1}));
    }
    return make_task(random_inputs({{kN}}), make_program(values, {0}, steps, {times}));
  };
  const TrialRequest request{.check_noop = true, .each_launch = true};
  int runs = 0;
  std::vector<bool> works(kLaunches, false);
  std::fill(works.begin() + 30, works.begin() + 46, true);
  TrialReport report = run(power(16), chain(backend_, works, runs), request);
  EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_LT(report.idle_launches.size(), 20u);
  EXPECT_GT(report.idle_launches.size(), 8u);
  for (const int step : report.idle_launches) EXPECT_FALSE(works[step / 2]) << step;
  EXPECT_LT(runs, 60 * kLaunches);

  // One that matters is found wherever it is.
  for (const int only : {0, 1, 30, kLaunches - 1}) {
    std::fill(works.begin(), works.end(), false);
    works[only] = true;
    report = run(power(1), chain(backend_, works, runs), request);
    EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_GE(report.idle_launches.size(), 15u);
    EXPECT_LT(report.idle_launches.size(), static_cast<size_t>(kLaunches));
    for (const int step : report.idle_launches) EXPECT_NE(step, 2 * only + 1);
  }
}

// A skipped launch leaves poison where an operator expects indices; that must do no harm.
TEST_P(IdleLaunchesTest, SkippedLaunchesDoNotLeaveWildIndices) {
  std::vector<Kernel> kernels = {make_kernel("count", {"*i64"}, {0})};
  backend_.kernels["count"] = [](std::span<const at::Tensor> t) {
    for (int64_t i = 0; i < kN; ++i) static_cast<int64_t*>(t[0].mutable_data_ptr())[i] = kN - 1 - i;
  };
  const auto values = [] {
    return Json::array({value_json("float32", {kN, 2}, 0), value_json("int64", {kN}, 1),
                        value_json("float32", {kN, 2}, 2)});
  };
  const Json look_up =
      step_json("aten.embedding.default", {{"weight", v(0)}, {"indices", v(1)}}, {2});
  Task task =
      make_task(random_inputs({{kN, 2}}),
                make_program(values(), {0},
                             {step_json("aten.empty.memory_format",
                                        {{"size", {kN}}, {"dtype", {{"dtype", "int64"}}}}, {1}),
                              launch_json(0, {v(1)}), look_up},
                             {2}, kernels),
                kernels);
  std::vector<int64_t> reversed;
  for (int64_t i = 0; i < kN; ++i) reversed.push_back(kN - 1 - i);
  Task flip = make_task(
      random_inputs({{kN, 2}}),
      make_program(
          values(), {0},
          {step_json("kernelwright.constant.default",
                     {{"data", reversed}, {"shape", {kN}}, {"dtype", {{"dtype", "int64"}}}}, {1}),
           look_up},
          {2}));
  const TrialReport report = run(flip, task, {.check_noop = true, .each_launch = true});
  expect_clean(report);
  EXPECT_TRUE(report.no_launch_changes);
  EXPECT_TRUE(report.idle_launches.empty());
}

}  // namespace
}  // namespace kw::exec
