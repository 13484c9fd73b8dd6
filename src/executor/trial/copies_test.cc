// Tests that launches which only copy, in any order and scaled, are told from those that compute.
#include "executor/trial/copies.h"

#include "executor/trial/test_trial.h"

namespace kw::exec {
namespace {

Shows shows(const at::Tensor& from, const at::Tensor& to) {
  LaunchCopy how;
  return compare_elements(from, to, how);
}

TEST(Copies, MayBeInAnyOrderAndScaled) {
  at::manual_seed(1);
  for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor x = at::randn({40, 25}).to(dtype);
    EXPECT_EQ(shows(x, x.clone()), Shows::kCopy);
    EXPECT_EQ(shows(x, x.t().contiguous()), Shows::kCopy);
    EXPECT_EQ(shows(x, x.reshape({-1}).index({at::randperm(1000)})), Shows::kCopy);
    for (const double factor : {0.37, -2.5, 0.03}) {
      for (const double addend : {0.0, 0.6}) {
        LaunchCopy how;
        const at::Tensor y = (x.to(at::kFloat) * factor + addend).to(dtype);
        EXPECT_EQ(compare_elements(x, y, how), Shows::kCopy) << dtype << factor << addend;
        EXPECT_NEAR(how.factor, factor, 0.01 * std::abs(factor));
        EXPECT_NEAR(how.addend, addend, 0.01);
        EXPECT_EQ(how.addend == 0, addend == 0);
      }
    }
  }
}

TEST(Copies, AreNotWhatIsComputed) {
  at::manual_seed(2);
  const at::Tensor x = at::randn({64, 16});
  for (const at::Tensor& y : {x.relu(), x.tanh(), x.abs(), x.square(), x.cumsum(1), x.softmax(1),
                              x + x.roll(1, 0), x * at::rand({64, 1}), x.narrow(0, 1, 63),
                              at::randn({64, 16}), x + at::rand({16}) * 0.01}) {
    EXPECT_EQ(shows(x, y), Shows::kOther);
  }
  EXPECT_EQ(shows(x, at::arange(1024)), Shows::kOther);
}

TEST(Copies, OfManyElementsShowInAPart) {
  at::manual_seed(3);
  const at::Tensor x = at::randn({3000, 1024});
  EXPECT_EQ(shows(x, x.clone()), Shows::kCopy);
  EXPECT_EQ(shows(x, x * -0.25 + 1), Shows::kCopy);
  EXPECT_EQ(shows(x, x.relu()), Shows::kOther);
  const at::Tensor column = x.clone();
  column.select(1, 5) += 1;
  EXPECT_EQ(shows(x, column), Shows::kOther) << "one column of 1024";
}

TEST(Copies, DoNotShowInZerosAndNaN) {
  const at::Tensor x = at::randn({64});
  EXPECT_EQ(shows(x, at::zeros({64})), Shows::kNothing);
  EXPECT_EQ(shows(x, at::full({64}, NAN)), Shows::kNothing);
  EXPECT_EQ(shows(at::empty({0}), at::empty({0})), Shows::kNothing);
  EXPECT_EQ(shows(at::full({1}, 3.5), at::full({1}, 3.5)), Shows::kCopy);
  EXPECT_EQ(shows(at::full({1}, 3.5), at::full({1}, 7.0)), Shows::kOther) << "one number";
  EXPECT_EQ(shows(at::full({64}, 3.5), at::full({64}, 7.0)), Shows::kOther) << "of any factor";
}

class CopyTrials : public TrialTest {};
INSTANTIATE_TEST_SUITE_P(Backends, CopyTrials, testing::Bool());

// exp(x) * y by PyTorch, then one launch of `kernel` (product, out).
Task launch_behind_pytorch() {
  std::vector<Kernel> kernels = {make_kernel("behind", {"*fp32", "*fp32"}, {1})};
  Program forward = make_program(
      {value_json("float32", {kN}, 0), value_json("float32", {kN}, 1),
       value_json("float32", {kN}, 2), value_json("float32", {kN}, 3),
       value_json("float32", {kN}, 4)},
      {0, 1},
      {step_json("aten.exp.default", {{"self", v(0)}}, {2}),
       step_json("aten.mul.Tensor", {{"self", v(2)}, {"other", v(1)}}, {3}),
       step_json("aten.empty.memory_format", {{"size", {kN}}}, {4}), launch_json(0, {v(3), v(4)})},
      {4}, kernels);
  return make_task(random_inputs({{kN}, {kN}}), std::move(forward), kernels);
}

TEST_P(CopyTrials, NameTheSourceOfACopy) {
  backend_.kernels["behind"] = [](std::span<const at::Tensor> t) {
    for (int64_t i = 0; i < kN; ++i) data(t[1])[kN - 1 - i] = 2 * data(t[0])[i];
  };
  const LaunchCopies found = run(reference_task(), launch_behind_pytorch()).copies;
  EXPECT_TRUE(found.others.empty());
  ASSERT_EQ(found.copies.size(), 1u);
  EXPECT_EQ(found.copies[0].step, 3);
  EXPECT_EQ(found.copies[0].source, 3);
  EXPECT_NEAR(found.copies[0].factor, 2, 1e-5);
  EXPECT_NEAR(found.copies[0].addend, 0, 1e-5);
}

TEST_P(CopyTrials, NameLaunchesThatCompute) {
  backend_.kernels["behind"] = [](std::span<const at::Tensor> t) {
    for (int64_t i = 0; i < kN; ++i) data(t[1])[i] = std::tanh(data(t[0])[i]);
  };
  const LaunchCopies found = run(reference_task(), launch_behind_pytorch()).copies;
  EXPECT_EQ(found.others, std::vector<int>{3});
  EXPECT_TRUE(found.copies.empty());
}

TEST_P(CopyTrials, AreOfWhatALaunchOverwrites) {
  Task task = launch_behind_pytorch();
  task.kernels = {make_kernel("behind", {"*fp32"}, {0})};
  task.kernels[0].compiled->reads = {0};
  task.forward.steps.pop_back();
  task.forward.steps.back() = Launch{0, {1, 1, 1}, {{ValueRef{3}}}};
  task.forward.outputs = {3};
  backend_.kernels["behind"] = [](std::span<const at::Tensor> t) {
    for (int64_t i = 0; i < kN; ++i) data(t[0])[i] = std::max(data(t[0])[i], 0.0f);
  };
  EXPECT_EQ(run(reference_task(), task).copies.others, std::vector<int>{2});
}

TEST_P(CopyTrials, ConcernOnlyWhatPyTorchComputed) {
  EXPECT_EQ(run(reference_task(), kernel_task()).copies, LaunchCopies());
}

}  // namespace
}  // namespace kw::exec
