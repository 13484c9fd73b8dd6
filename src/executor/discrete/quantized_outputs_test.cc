#include "executor/discrete/quantized_outputs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

// Divides x [6, 4] by a scale [6, 1], applies `op` and `rest`, and converts to int8.
Program quantise(const std::string& op, const std::vector<Json>& rest = {}) {
  Json values = {value_json("float32", {6, 4}, 0), value_json("float32", {6, 1}, 1),
                 value_json("float32", {6, 4}, 2)};
  Json steps = {step_json("aten.div.Tensor", {{"self", v(0)}, {"other", v(1)}}, {2})};
  int last = 2;
  const auto add = [&](const std::string& name, Json args, const char* dtype) {
    args["self"] = v(last);
    values.push_back(value_json(dtype, {6, 4}, ++last));
    steps.push_back(step_json(name, args, {last}));
  };
  if (!op.empty()) add(op, Json::object(), "float32");
  for (const Json& step : rest) add(step[0], step[1], "float32");
  add("aten._to_copy.default", {{"dtype", {{"dtype", "int8"}}}}, "int8");
  return make_program(values, {0, 1}, steps, {last});
}

TEST(QuantizedOutputs, AreWhatWasRounded) {
  const auto round = find_quantized_output(quantise("aten.round.default"), 0);
  ASSERT_TRUE(round);
  EXPECT_EQ(round->source, 2);
  EXPECT_EQ(round->discontinuity, Discontinuity::kMiddle);
  for (const char* op : {"aten.floor.default", "aten.ceil.default", "aten.trunc.default", ""}) {
    const auto cut = find_quantized_output(quantise(op), 0);
    ASSERT_TRUE(cut) << op;
    EXPECT_EQ(cut->source, 2) << op;
    EXPECT_EQ(cut->discontinuity, Discontinuity::kInteger) << op;
  }
}

TEST(QuantizedOutputs, AreSeenThroughWhatKeepsIntegers) {
  const auto found = find_quantized_output(
      quantise("aten.round.default", {{"aten.add.Scalar", {{"other", 8}}},
                                      {"aten.clamp.default", {{"min", 0}, {"max", 15}}}}),
      0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, 2);
  // What follows is cut where it is converted.
  const auto other =
      find_quantized_output(quantise("aten.round.default", {{"aten.exp.default", {}}}), 0);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->source, 4);
  EXPECT_EQ(other->discontinuity, Discontinuity::kInteger);
}

TEST(QuantizedOutputs, AreNotFloatsNorWhatWasNoNumber) {
  EXPECT_FALSE(find_quantized_output(
      make_program({value_json("float32", {4}, 0), value_json("float32", {4}, 1)}, {0},
                   {step_json("aten.round.default", {{"self", v(0)}}, {1})}, {1}),
      0));
  EXPECT_FALSE(find_quantized_output(
      make_program({value_json("int64", {4}, 0), value_json("int32", {4}, 1)}, {0},
                   {step_json("aten._to_copy.default",
                              {{"self", v(0)}, {"dtype", {{"dtype", "int32"}}}}, {1})},
                   {1}),
      0));
}

// The numbers are: 2.5 less what float32 cannot hold; one near 4.5, but not so near; an integer;
// and one near a cut.
struct QuantizedOutputsTest : testing::Test {
  const at::Tensor oracle = at::tensor({2.5 - 1e-8, 4.49, 5.0, 7.0 - 1e-8}, at::kDouble);
  const at::Tensor off = at::tensor({1e-7, 0.0, -2e-7, 1e-7}, at::kDouble);
  const at::Tensor reference = (oracle + off).to(at::kFloat);
  const at::Tensor expected = at::tensor({2, 4, 5, 7}, at::kChar);

  int64_t wrong(Discontinuity discontinuity, std::vector<int64_t> got) const {
    const at::Tensor right =
        discontinuity == Discontinuity::kMiddle ? oracle.round() : oracle.floor();
    return wrong_quantized(discontinuity, oracle,
                           quantized_tolerance(discontinuity, reference, oracle),
                           at::tensor(got, at::kLong).to(at::kChar), expected, right);
  }
};

TEST_F(QuantizedOutputsTest, NearTiesMayFallEitherWay) {
  EXPECT_EQ(wrong(Discontinuity::kMiddle, {2, 4, 5, 7}), 0);
  EXPECT_EQ(wrong(Discontinuity::kMiddle, {3, 4, 5, 7}), 0);
  EXPECT_EQ(wrong(Discontinuity::kInteger, {2, 4, 4, 6}), 0);
}

TEST_F(QuantizedOutputsTest, OthersMayNot) {
  EXPECT_EQ(wrong(Discontinuity::kMiddle, {2, 5, 5, 7}), 1);
  EXPECT_EQ(wrong(Discontinuity::kMiddle, {4, 4, 5, 7}), 1) << "two off";
  EXPECT_EQ(wrong(Discontinuity::kMiddle, {2, 4, 4, 8}), 2);
  EXPECT_EQ(wrong(Discontinuity::kMiddle, {1, 4, 5, 7}), 1) << "away from the discontinuity";
  EXPECT_EQ(wrong(Discontinuity::kInteger, {3, 4, 5, 7}), 1);
}

TEST_F(QuantizedOutputsTest, NothingIsNearWhereNothingIsRounded) {
  const at::Tensor halves = at::tensor({0.5, 1.5, 2.5}, at::kDouble);
  const at::Tensor tolerance =
      quantized_tolerance(Discontinuity::kMiddle, halves.to(at::kFloat), halves);
  const auto codes = [](std::vector<int64_t> numbers) { return at::tensor(numbers, at::kLong); };
  const at::Tensor even = codes({0, 2, 2});
  EXPECT_EQ(
      wrong_quantized(Discontinuity::kMiddle, halves, tolerance, codes({1, 1, 3}), even, even), 3);
}

// In bfloat16, numbers around 100 are half a unit apart: all of them are near a discontinuity.
TEST_F(QuantizedOutputsTest, NotEverythingMayBeOffWhereEverythingIsNear) {
  at::manual_seed(1);
  const at::Tensor exact = at::rand({1000}, at::kDouble) * 60 + 65;
  const at::Tensor computed = exact.to(at::kBFloat16);
  const at::Tensor tolerance = quantized_tolerance(Discontinuity::kMiddle, computed, exact);
  const auto as_codes = [](const at::Tensor& numbers) { return numbers.round().to(at::kLong); };
  const at::Tensor right = as_codes(exact), theirs = as_codes(computed.to(at::kDouble));
  const auto wrong = [&](const at::Tensor& mine) {
    return wrong_quantized(Discontinuity::kMiddle, exact, tolerance, mine, theirs, right);
  };
  EXPECT_GT(theirs.ne(right).sum().item<int64_t>(), 100);
  EXPECT_EQ(wrong(theirs), 0);
  EXPECT_EQ(wrong(right), 0) << "computed in float32";
  EXPECT_EQ(wrong(as_codes(exact + 0.1)), 0);
  EXPECT_GT(wrong(right + 1), 500);
  EXPECT_GT(wrong(right - 1), 500);
}

TEST_F(QuantizedOutputsTest, AHugeElementDoesNotExcuseTheOthers) {
  const at::Tensor exact = at::tensor({3e8 + 0.25, 4.4}, at::kDouble);
  const at::Tensor tolerance =
      quantized_tolerance(Discontinuity::kMiddle, exact.to(at::kFloat), exact);
  EXPECT_GT(tolerance[0].item<double>(), 0.5);
  EXPECT_LT(tolerance[1].item<double>(), 1e-5);
}

// Compares the product of two inputs, or the first input itself, with the second input or 0.25.
Program compared(const char* op, bool computed, bool with_tensor) {
  Json values = {value_json("float32", {8, 8}, 0), value_json("float32", {8, 8}, 1),
                 value_json("float32", {8, 8}, 2), value_json("bool", {8, 8}, 3)};
  Json steps = {step_json("aten.mm.default", {{"self", v(0)}, {"mat2", v(1)}}, {2})};
  Json args = {{"self", v(computed ? 2 : 0)}};
  args["other"] = with_tensor ? v(1) : Json(0.25);
  steps.push_back(step_json(op, args, {3}));
  return make_program(values, {0, 1}, steps, {3});
}

TEST(QuantizedOutputs, AreAnswersOfComparisonsOfWhatWasComputed) {
  for (bool with_tensor : {false, true}) {
    const char* op = with_tensor ? "aten.gt.Tensor" : "aten.gt.Scalar";
    const auto found = find_quantized_output(compared(op, true, with_tensor), 0);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->source, 2);
    EXPECT_EQ(found->discontinuity, Discontinuity::kZero);
    ASSERT_TRUE(found->other);
    EXPECT_EQ(found->other->is_value(), with_tensor);
    EXPECT_FALSE(find_quantized_output(compared(op, false, with_tensor), 0))
        << "of what nobody computed";
    const Program with = with_sources(compared(op, true, with_tensor), {*found});
    EXPECT_EQ(with.outputs.size(), 2u);
  }
}

// The numbers are about 1e-6. A near tie is near compared with them, and not compared with 1.
TEST(QuantizedOutputs, ComparisonsNearZeroMayFallEitherWay) {
  at::manual_seed(4);
  const at::Tensor oracle = at::randn({1000}, at::kDouble) * 1e-6;
  oracle[7] = 1e-14;
  const at::Tensor reference = (oracle + at::randn({1000}) * 1e-13).to(at::kFloat);
  const at::Tensor tolerance = quantized_tolerance(Discontinuity::kZero, reference, oracle);
  EXPECT_LT(tolerance.max().item<double>(), 1e-11);
  const at::Tensor right = oracle.gt(0);
  at::Tensor got = right.logical_not();
  EXPECT_GT(wrong_quantized(Discontinuity::kZero, oracle, tolerance, got, right, right), 900);
  got = right.clone();
  got[7] = false;
  EXPECT_EQ(wrong_quantized(Discontinuity::kZero, oracle, tolerance, got, right, right), 0);
  got[8] = got[8].logical_not();
  EXPECT_EQ(wrong_quantized(Discontinuity::kZero, oracle, tolerance, got, right, right), 1);
}

// Counts may have one element more or less, and answers of two comparisons may differ in one.
TEST(QuantizedOutputs, IntegersMayLieBetweenBothSidesOfNearTies) {
  const auto longs = [](std::vector<int64_t> numbers) { return at::tensor(numbers, at::kLong); };
  const at::Tensor expected = longs({10, 20, 7}), ties_flipped = longs({12, 17, 7});
  EXPECT_EQ(wrong_integers(longs({11, 18, 7}), expected, ties_flipped), 0);
  EXPECT_EQ(wrong_integers(longs({9, 21, 8}), expected, ties_flipped), 3);
  const at::Tensor yes = at::ones({2}, at::kBool), no = at::zeros({2}, at::kBool);
  at::Tensor mixed = yes.clone();
  mixed[1] = false;
  EXPECT_EQ(wrong_integers(yes, yes, mixed), 0);
  EXPECT_EQ(wrong_integers(mixed, yes, mixed), 0);
  EXPECT_EQ(wrong_integers(no, yes, mixed), 1);
}

TEST(Discontinuities, AreCrossedWhereTheyAreNear) {
  const float below = std::nextafter(2.5f, 0.0f), at_cut = std::nextafter(-3.0f, 0.0f);
  const at::Tensor values = at::tensor({below, 2.5f, 2.4f, at_cut, -0.0f});
  const at::Tensor middle = across_near_discontinuities(Discontinuity::kMiddle, values);
  EXPECT_GT(middle[0].item<float>(), 2.5f);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(middle[i].item<float>(), values[i].item<float>()) << i;
  const at::Tensor cut = across_near_discontinuities(Discontinuity::kInteger, values);
  EXPECT_LT(cut[3].item<float>(), -3.0f);
  for (int i : {0, 1, 2, 4}) EXPECT_EQ(cut[i].item<float>(), values[i].item<float>()) << i;
  at::Tensor many = at::full({4000}, 7.25f);
  many[3] = 2.5f, many[4] = -3.5f;
  EXPECT_EQ(across_near_discontinuities(Discontinuity::kMiddle, many)[3].round().item<float>(),
            3.0f);
  EXPECT_EQ(across_near_discontinuities(Discontinuity::kMiddle, many)[4].round().item<float>(),
            -3.0f);
  many[3] = 5.0f;
  EXPECT_EQ(across_near_discontinuities(Discontinuity::kInteger, many)[3].floor().item<float>(),
            4.0f);
  const at::Tensor odd = at::tensor({NAN, INFINITY});
  EXPECT_TRUE(
      at::allclose(across_near_discontinuities(Discontinuity::kMiddle, odd), odd, 0, 0, true));
}

}  // namespace
}  // namespace kw::exec
