#include "program/cost.h"

#include <gtest/gtest.h>

#include "program/spelled_cost.h"

namespace kw {
namespace {

TEST(Cost, MatmulAndViews) {
  Program p;
  p.values = {{DType::kFloat32, {3, 5}, {5, 1}, 0, 0},
              {DType::kFloat32, {7, 5}, {5, 1}, 0, 1},
              {DType::kFloat32, {3, 7}, {7, 1}, 0, 2},
              {DType::kFloat32, {7, 3}, {1, 7}, 0, 2}};
  const Step linear = AtenCall{
      "aten.linear.default", {{"input", {ValueRef{0}}}, {"weight", {ValueRef{1}}}}, {2}, {}};
  EXPECT_EQ(step_cost(p, linear).flops, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(step_cost(p, linear).bytes, 4.0 * (15 + 35 + 21));
  const Step view = AtenCall{"aten.t.default", {{"self", {ValueRef{2}}}}, {3}, {}};
  EXPECT_EQ(step_cost(p, view).bytes, 0.0);
}

// Attention by hand: two products, a scale and a softmax of max, difference, exp, sum and quotient.
// Its fused operator never writes the scores.
TEST(Cost, FusedAttentionSpelledOutCostsItsSteps) {
  Program p;
  for (int i = 0; i < 4; ++i) p.values.push_back({DType::kFloat32, {2, 8, 16}, {128, 16, 1}, 0, i});
  const Step attention =
      AtenCall{"aten.scaled_dot_product_attention.default",
               {{"query", {ValueRef{0}}}, {"key", {ValueRef{1}}}, {"value", {ValueRef{2}}}},
               {3},
               {}};
  const double tensor = 4 * 2 * 8 * 16, scores = 4 * 2 * 8 * 8;
  EXPECT_EQ(step_cost(p, attention).bytes, 4 * tensor);
  // Scores: written and read by the products, twice each by four steps, read alone by max and sum.
  EXPECT_EQ(spelled_cost(p, attention, false).bytes, 4 * tensor + (2 + 4 * 2 + 2) * scores);
  EXPECT_GT(spelled_cost(p, attention, false).flops, step_cost(p, attention).flops);
}

TEST(Cost, OpaqueOperatorsCostAtLeastTheirTensors) {
  Program p;
  for (int i = 0; i < 2; ++i) p.values.push_back({DType::kFloat32, {6, 8}, {8, 1}, 0, i});
  const Step opaque = AtenCall{"aten.i0.default", {{"self", {ValueRef{0}}}}, {1}, {}};
  EXPECT_EQ(step_cost(p, opaque).bytes, 2.0 * 4 * 6 * 8);
  EXPECT_EQ(step_cost(p, opaque).flops, 6.0 * 8);
}

// torch.zeros writes its memory, and so do these. None of them reads or computes.
TEST(Cost, FilledMemoryIsWrittenOnce) {
  Program p;
  for (int i = 0; i < 3; ++i) p.values.push_back({DType::kFloat32, {6, 8}, {8, 1}, 0, i});
  p.values[2].storage = 1;
  const Arg self{ValueRef{1}};
  const double tensor = 4 * 6 * 8;
  const std::vector<std::pair<AtenCall, bool>> fills = {
      {AtenCall{"aten.zeros.default", {}, {2}, {}}, true},
      {AtenCall{"aten.zeros_like.default", {{"self", {ValueRef{0}}}}, {2}, {}}, true},
      {AtenCall{"aten.new_zeros.default", {{"self", {ValueRef{0}}}}, {2}, {}}, true},
      {AtenCall{"aten.full_like.default", {{"self", {ValueRef{0}}}}, {2}, {}}, true},
      {AtenCall{"aten.zero_.default", {{"self", self}}, {2}, {1}}, true},
      {AtenCall{"aten.fill_.Scalar", {{"self", self}, {"value", {0.0}}}, {2}, {1}}, true},
      {AtenCall{"aten.relu_.default", {{"self", self}}, {2}, {1}}, false}};
  for (const auto& [call, is_fill] : fills) {
    EXPECT_EQ(fills_memory(call), is_fill) << call.op;
    EXPECT_EQ(step_cost(p, call).bytes, is_fill ? tensor : 2 * tensor) << call.op;
    EXPECT_EQ(step_cost(p, call).flops, is_fill ? 0 : 6 * 8) << call.op;
  }
}

TEST(Cost, ProductsAreSpelledOutOnlyWhereAsked) {
  Program p;
  p.values = {{DType::kFloat32, {3, 5}, {5, 1}, 0, 0},
              {DType::kFloat32, {5, 7}, {7, 1}, 0, 1},
              {DType::kFloat32, {3, 7}, {7, 1}, 0, 2}};
  const Step mm =
      AtenCall{"aten.mm.default", {{"self", {ValueRef{0}}}, {"mat2", {ValueRef{1}}}}, {2}, {}};
  const double operands = 4 * (15 + 35 + 21);
  EXPECT_EQ(spelled_cost(p, mm, false).bytes, operands);
  EXPECT_EQ(spelled_cost(p, mm, true).bytes, operands + 2 * 4 * (3 * 5 * 7));
  p.steps = {mm};
  EXPECT_TRUE(has_products(p));
  p.steps.clear();
  EXPECT_FALSE(has_products(p));
}

// Returns the operations of a call on float32 tensors of these sizes; the last is the result.
double flops_of(const std::string& op, const std::vector<std::vector<int64_t>>& shapes,
                std::map<std::string, Arg> args) {
  Program p;
  for (const auto& shape : shapes) {
    p.values.push_back({DType::kFloat32, shape, shape, 0, static_cast<int>(p.values.size())});
  }
  return step_cost(p, AtenCall{op, std::move(args), {static_cast<int>(shapes.size()) - 1}, {}})
      .flops;
}

TEST(Cost, CountsMultiplyAddsOfWeights) {
  const Arg input{ValueRef{0}}, weight{ValueRef{1}};
  // 2 x 6 x 5 results, each of 3 channels in a window of 4.
  EXPECT_EQ(flops_of("aten.convolution.default", {{2, 3, 8}, {6, 3, 4}, {2, 6, 5}},
                     {{"input", input}, {"weight", weight}, {"transposed", Arg{false}}}),
            2.0 * (2 * 6 * 5) * (3 * 4));
  // Transposed: 2 x 3 x 8 elements, each spread by 6 filters of 4.
  EXPECT_EQ(flops_of("aten.convolution.default", {{2, 3, 8}, {3, 6, 4}, {2, 6, 11}},
                     {{"input", input}, {"weight", weight}, {"transposed", Arg{true}}}),
            2.0 * (2 * 3 * 8) * (6 * 4));
  // An LSTM of 7 steps, 2 sequences, 5 inputs, 4 hidden.
  EXPECT_EQ(flops_of("aten.lstm.input", {{7, 2, 5}, {16, 5}, {16, 4}, {16}, {7, 2, 4}},
                     {{"input", input},
                      {"params", Arg{ArgList{weight, Arg{ValueRef{2}}, Arg{ValueRef{3}}}}}}),
            2.0 * (7 * 2) * (16 * 5 + 16 * 4));
}

// What works in place works as much as what does not.
TEST(Cost, CountsMultiplyAddsInPlace) {
  const Arg self{ValueRef{0}}, left{ValueRef{1}}, right{ValueRef{2}};
  for (const char* op : {"aten.baddbmm_.default", "aten.baddbmm.default"}) {
    EXPECT_EQ(flops_of(op, {{2, 3, 5}, {2, 3, 7}, {2, 7, 5}, {2, 3, 5}},
                       {{"self", self}, {"batch1", left}, {"batch2", right}}),
              2.0 * (2 * 3 * 5) * 7);
  }
  for (const char* op : {"aten.addmm_.default", "aten.addmm.default"}) {
    EXPECT_EQ(flops_of(op, {{3, 5}, {3, 7}, {7, 5}, {3, 5}},
                       {{"self", self}, {"mat1", left}, {"mat2", right}}),
              2.0 * (3 * 5) * 7);
  }
}

}  // namespace
}  // namespace kw
