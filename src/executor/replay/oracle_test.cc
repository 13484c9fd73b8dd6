#include "executor/replay/oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/test_backend.h"
#include "executor/replay/replay.h"

namespace kw::exec {
namespace {

class OracleTest : public testing::Test {
 protected:
  // Runs the recorded program and its oracle on the same inputs under the same seed.
  void run(const Program& program, const std::vector<at::Tensor>& inputs) {
    const std::vector<at::Tensor> wide = widened(inputs);
    Replay plain(program, {}, nullptr, at::kCPU);
    at::manual_seed(5);
    recorded_ = plain.run(inputs, {});
    Replay oracle = Replay::wide(widened(program), program, at::kCPU);
    at::manual_seed(5);
    oracle_ = oracle.run(wide, {});
  }
  c10::InferenceMode inference_;
  std::vector<at::Tensor> recorded_, oracle_;
};

Json dtype(const std::string& name) { return {{"dtype", name}}; }

// 2049 is no fp16 number and 1/3 no fp32 number: an oracle that rounded to either would show.
TEST_F(OracleTest, ExplicitCastsDoNotRound) {
  const Program program = make_program(
      {value_json("float32", {2}, 0), value_json("float16", {2}, 1), value_json("float16", {2}, 2),
       value_json("float32", {2}, 3)},
      {0},
      {step_json("aten._to_copy.default", {{"self", v(0)}, {"dtype", dtype("float16")}}, {1}),
       step_json("aten.div.Tensor", {{"self", v(1)}, {"other", 3}}, {2}),
       step_json("aten._to_copy.default", {{"self", v(2)}, {"dtype", dtype("float32")}}, {3})},
      {2, 3});
  const at::Tensor x = at::tensor({2049.0f, 1.0f});
  run(program, {x});
  EXPECT_NE(recorded_[1][0].item<double>(), 683.0);
  for (const at::Tensor& out : oracle_) {
    EXPECT_EQ(out.scalar_type(), at::kDouble);
    EXPECT_TRUE(at::equal(out, x.to(at::kDouble) / 3));
  }
}

// 0.1 is no number of float32.
TEST_F(OracleTest, ComplexNumbersAreWideToo) {
  const Program program =
      make_program({value_json("float32", {2}, 0), value_json("complex64", {2}, 1),
                    value_json("complex64", {2}, 2), value_json("float32", {2}, 3)},
                   {0},
                   {step_json("aten.complex.default", {{"real", v(0)}, {"imag", v(0)}}, {1}),
                    step_json("aten.mul.Tensor", {{"self", v(1)}, {"other", 0.1}}, {2}),
                    step_json("aten.abs.default", {{"self", v(2)}}, {3})},
                   {2, 3});
  const at::Tensor x = at::tensor({3.0f, -2.0f});
  run(program, {x});
  EXPECT_EQ(recorded_[0].scalar_type(), at::kComplexFloat);
  EXPECT_EQ(oracle_[0].scalar_type(), at::kComplexDouble);
  EXPECT_TRUE(at::equal(at::real(oracle_[0]), x.to(at::kDouble) * 0.1));
  EXPECT_TRUE(at::allclose(oracle_[1], x.to(at::kDouble).abs() * 0.1 * std::sqrt(2.0), 1e-15, 0));
}

// What is compared are numbers: real parts and imaginary ones.
TEST_F(OracleTest, ComplexOutputsAreGivenAsTheirParts) {
  const Program program =
      make_program({value_json("float32", {3}, 0), value_json("complex64", {3}, 1)}, {0},
                   {step_json("aten.complex.default", {{"real", v(0)}, {"imag", v(0)}}, {1})}, {1});
  const at::Tensor x = at::tensor({3.0f, -2.0f, 0.5f});
  Replay replay(program, {}, nullptr, at::kCPU);
  EXPECT_TRUE(replay.run({x}, {}).at(0).is_complex());
  replay.give_parts_of_complex();
  EXPECT_TRUE(at::equal(replay.run({x}, {}).at(0), at::stack({x, x}, 1)));
}

TEST_F(OracleTest, FactoriesAndIntegerArithmeticAreWideToo) {
  const Program program = make_program(
      {value_json("int64", {3}, 0), value_json("float32", {3}, 1), value_json("float32", {3}, 2),
       value_json("float32", {3}, 3), value_json("float16", {3}, 4), value_json("float16", {3}, 5)},
      {0},
      {step_json("aten.mul.Tensor", {{"self", v(0)}, {"other", 0.1}}, {1}),
       step_json("aten.full.default", {{"size", {3}}, {"fill_value", 0.1}}, {2}),
       step_json("aten.add.Tensor", {{"self", v(1)}, {"other", v(2)}}, {3}),
       step_json("aten.full.default",
                 {{"size", {3}}, {"fill_value", 0.1}, {"dtype", dtype("float16")}}, {4}),
       step_json("aten.softmax.int", {{"self", v(4)}, {"dim", 0}, {"dtype", dtype("float16")}},
                 {5})},
      {3, 4, 5});
  const at::Tensor i = at::arange(3);
  run(program, {i});
  EXPECT_TRUE(at::equal(oracle_[0], i.to(at::kDouble) * 0.1 + 0.1));
  EXPECT_TRUE(at::equal(oracle_[1], at::full({3}, 0.1, at::kDouble)));
  EXPECT_LT((oracle_[2] - 1.0 / 3).abs().max().item<double>(), 1e-15);
}

TEST_F(OracleTest, RandomStepsDrawWhatTheRecordedProgramDraws) {
  const Program program =
      make_program({value_json("float16", {50}, 0), value_json("float16", {50}, 1),
                    value_json("float32", {50}, 2), value_json("float32", {50}, 2),
                    value_json("float16", {50}, 3)},
                   {0},
                   {step_json("aten.rand_like.default", {{"self", v(0)}}, {1}),
                    step_json("aten.empty.memory_format", {{"size", {50}}}, {2}),
                    step_json("aten.normal_.default", {{"self", v(2)}}, {3}, {2}),
                    step_json("aten.bernoulli.p", {{"self", v(0)}, {"p", 0.3}}, {4})},
                   {1, 3, 4});
  run(program, {at::randn({50}).to(at::kHalf)});
  for (size_t i = 0; i < oracle_.size(); ++i) {
    EXPECT_EQ(oracle_[i].scalar_type(), at::kDouble);
    EXPECT_TRUE(at::equal(oracle_[i], recorded_[i].to(at::kDouble))) << i;
  }
}

TEST_F(OracleTest, InPlaceUpdatesReachEveryView) {
  Json row = value_json("float32", {3}, 0);
  row["offset"] = 3;
  Json row_after = row;
  const Program program = make_program(
      {value_json("float32", {2, 3}, 0), row, row_after}, {0, 1},
      {step_json("aten.mul_.Tensor", {{"self", v(1)}, {"other", 2}}, {2}, {1})}, {0, 2});
  const at::Tensor x = at::ones({2, 3});
  run(program, {x, x[1]});
  EXPECT_EQ(oracle_[0].sum().item<double>(), 3 + 6);
  EXPECT_TRUE(at::equal(oracle_[0], recorded_[0].to(at::kDouble)));
}

TEST_F(OracleTest, NoOracleForBitsAndLaunches) {
  Program bits = make_program(
      {value_json("float32", {2}, 0), value_json("int32", {2}, 0)}, {0},
      {step_json("aten.view.dtype", {{"self", v(0)}, {"dtype", dtype("int32")}}, {1})}, {1});
  EXPECT_THROW(widened(bits), NotJudged);
  const std::vector<Kernel> kernels = {make_kernel("k", {"*fp32"}, {0})};
  EXPECT_THROW(widened(make_program({value_json("float32", {2}, 0)}, {0}, {launch_json(0, {v(0)})},
                                    {0}, kernels)),
               NotJudged);
}

TEST_F(OracleTest, WidenedInputsAreCopiesThatAliasAsBefore) {
  const at::Tensor x = at::randn({4, 4}), i = at::arange(4);
  const auto wide = widened({x, x.t(), i, x});
  EXPECT_TRUE(at::equal(wide[1], x.t().to(at::kDouble)));
  EXPECT_TRUE(wide[0].is_alias_of(wide[1]) && wide[0].is_alias_of(wide[3]));
  EXPECT_FALSE(wide[2].is_alias_of(i));
  EXPECT_EQ(wide[2].scalar_type(), at::kLong);
}

}  // namespace
}  // namespace kw::exec
