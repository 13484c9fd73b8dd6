// For tests: trials of exp(x) * y, and of kernels that should compute it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "executor/device/test_backend.h"
#include "executor/trial/trial.h"

namespace kw::exec {

constexpr int64_t kN = 64;

// Returns a task that computes exp(x) * y by operators.
inline Task reference_task() {
  return make_task(
      random_inputs({{kN}, {kN}}),
      make_program({value_json("float32", {kN}, 0), value_json("float32", {kN}, 1),
                    value_json("float32", {kN}, 2), value_json("float32", {kN}, 3)},
                   {0, 1},
                   {step_json("aten.exp.default", {{"self", v(0)}}, {2}),
                    step_json("aten.mul.Tensor", {{"self", v(2)}, {"other", v(1)}}, {3})},
                   {3}));
}

// Returns a task that computes the same by one launch of `kernel` (x, y, out).
inline Task kernel_task(const std::string& kernel = "exp_mul", std::vector<int> writes = {2}) {
  std::vector<Kernel> kernels = {make_kernel(kernel, {"*fp32", "*fp32", "*fp32"}, writes)};
  Program forward = make_program({value_json("float32", {kN}, 0), value_json("float32", {kN}, 1),
                                  value_json("float32", {kN}, 2)},
                                 {0, 1},
                                 {step_json("aten.empty.memory_format", {{"size", {kN}}}, {2}),
                                  launch_json(0, {v(0), v(1), v(2)})},
                                 {2}, kernels);
  return make_task(random_inputs({{kN}, {kN}}), std::move(forward), kernels);
}

inline float* data(const at::Tensor& tensor) {
  return static_cast<float*>(tensor.mutable_data_ptr());
}

inline void exp_mul(std::span<const at::Tensor> t) {
  for (int64_t i = 0; i < kN; ++i) data(t[2])[i] = std::exp(data(t[0])[i]) * data(t[1])[i];
}

// The parameter says whether the backend is isolated and deterministic, or neither.
class TrialTest : public testing::TestWithParam<bool> {
 protected:
  TrialTest() {
    backend_.is_isolated = backend_.is_deterministic = GetParam();
    backend_.kernels["exp_mul"] = exp_mul;
  }
  TrialReport run(const Task& reference, const Task& candidate, TrialRequest request = {}) {
    LoadedTask r(reference, backend_), c(candidate, backend_);
    request.reference = 1;
    request.candidate = 2;
    request.seed += 11;
    return Trials(backend_).run(request, r, c);
  }
  // Runs a trial of a kernel that first does the right thing and then `wrong`.
  TrialReport run_wrong(FakeKernel wrong, TrialRequest request = {}) {
    backend_.kernels["exp_mul"] = [wrong](std::span<const at::Tensor> t) {
      exp_mul(t);
      wrong(t);
    };
    return run(reference_task(), kernel_task(), request);
  }
  static bool within(const OutputErrors& errors) {
    return errors.same_meta && errors.nonfinite_mismatch == 0 && errors.int_mismatch == 0 &&
           errors.candidate_rms <= 4 * std::max(errors.reference_rms, 1.2e-7);
  }
  static void expect_clean(const TrialReport& report) {
    ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
    EXPECT_TRUE(report.inputs_unchanged && report.guards_intact && report.buffers_equal)
        << report.difference;
    EXPECT_FALSE(report.passes_zeros || report.passes_stale);
    EXPECT_TRUE(report.difference.empty()) << report.difference;
    EXPECT_EQ(report.fault, Side::kNone);
  }
  FakeBackend backend_;
};

}  // namespace kw::exec
