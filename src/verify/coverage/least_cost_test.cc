#include "verify/coverage/least_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "program/rewrite/transform.h"

namespace kw {
namespace {

Value matrix(int64_t rows, int64_t columns, int storage) {
  return {DType::kFloat32, {rows, columns}, {columns, 1}, 0, storage};
}

ValueId add(Program& program, int64_t rows, int64_t columns) {
  const auto id = static_cast<int>(program.values.size());
  program.values.push_back(matrix(rows, columns, id));
  return id;
}

// Draws an order in which factors `first` to `last` are multiplied, and appends its steps. Some
// products are of transposed factors, and transposed back.
ValueId multiply(Program& program, const std::vector<int64_t>& sizes, int first, int last,
                 std::mt19937& random) {
  if (first == last) return first;
  const int middle = first + static_cast<int>(random() % (last - first));
  ValueId left = multiply(program, sizes, first, middle, random);
  ValueId right = multiply(program, sizes, middle + 1, last, random);
  const int64_t rows = sizes[first], columns = sizes[last + 1];
  const auto turned = [&](ValueId id) {
    Value value = program.values[id];
    std::swap(value.shape[0], value.shape[1]);
    std::swap(value.strides[0], value.strides[1]);
    const auto made = static_cast<int>(program.values.size());
    program.values.push_back(value);
    program.steps.push_back(AtenCall{"aten.t.default", {{"self", {ValueRef{id}}}}, {made}, {}});
    return made;
  };
  const bool turn = random() % 2 == 0;
  if (turn) {
    left = turned(left);
    right = turned(right);
    std::swap(left, right);
  }
  const ValueId made = turn ? add(program, columns, rows) : add(program, rows, columns);
  program.steps.push_back(AtenCall{
      "aten.mm.default", {{"self", {ValueRef{left}}}, {"mat2", {ValueRef{right}}}}, {made}, {}});
  return turn ? turned(made) : made;
}

// The least multiply-adds over all orders, each tried. The product of the factors that are
// constants is made once.
double least(const std::vector<int64_t>& sizes, const std::vector<bool>& constant, int first,
             int last) {
  if (std::all_of(constant.begin() + first, constant.begin() + last + 1,
                  [](bool c) { return c; })) {
    return 0;
  }
  double best = first == last ? 0 : 1e30;
  for (int k = first; k < last; ++k) {
    const double own = 2.0 * static_cast<double>(sizes[first] * sizes[k + 1] * sizes[last + 1]);
    best = std::min(best,
                    own + least(sizes, constant, first, k) + least(sizes, constant, k + 1, last));
  }
  return best;
}

TEST(LeastCost, ProductsInARowCostAsMuchAsInTheirCheapestOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const int count = 2 + static_cast<int>(random() % 5);
    const int states = static_cast<int>(random() % 3);
    std::vector<int64_t> sizes;
    for (int i = 0; i <= count; ++i) sizes.push_back(1 + static_cast<int64_t>(random() % 9));
    Task task;
    task.state.resize(std::min(states, count));
    std::vector<bool> constant(count);
    for (int i = 0; i < count; ++i) {
      task.forward.inputs.push_back(add(task.forward, sizes[i], sizes[i + 1]));
      constant[i] = i < states;
    }
    task.forward.outputs = {multiply(task.forward, sizes, 0, count - 1, random)};
    EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops),
              least(sizes, constant, 0, count - 1));
  }
}

// (x a) b, where each of x, a, b is 4 x 4. Another reader of x a needs it.
TEST(LeastCost, OnlyWhatNobodyElseReadsIsReordered) {
  Task task;
  task.state.resize(2);
  Program& p = task.forward;
  for (int i = 0; i < 5; ++i) add(p, 4, 4);
  p.inputs = {0, 1, 2};
  const auto product = [](ValueId a, ValueId b, ValueId c) {
    return AtenCall{"aten.mm.default", {{"self", {ValueRef{a}}}, {"mat2", {ValueRef{b}}}}, {c}, {}};
  };
  p.steps = {product(2, 0, 3), product(3, 1, 4)};
  p.outputs = {4};
  const double one = 2 * 4 * 4 * 4;
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), one);
  p.outputs = {4, 3};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), 2 * one);
  std::get<AtenCall>(p.steps[0]).args[kGiven] = {true};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), one);
  std::get<AtenCall>(p.steps[1]).args[kGiven] = {true};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), 0);
}

// The sum over rows of (x w) s, where s is a factor of each column. The cheapest order sums x
// first, multiplies the row by w, and then by s.
TEST(LeastCost, SumsAndFactorsArePartsOfAChain) {
  Task task;
  Program& p = task.forward;
  add(p, 50, 20);
  add(p, 20, 30);
  p.values.push_back({DType::kFloat32, {30}, {1}, 0, 2});
  add(p, 50, 30);
  add(p, 50, 30);
  p.values.push_back({DType::kFloat32, {30}, {1}, 0, 5});
  p.inputs = {0, 1, 2};
  p.steps = {
      AtenCall{"aten.mm.default", {{"self", {ValueRef{0}}}, {"mat2", {ValueRef{1}}}}, {3}, {}},
      AtenCall{"aten.mul.Tensor", {{"self", {ValueRef{3}}}, {"other", {ValueRef{2}}}}, {4}, {}},
      AtenCall{"aten.sum.dim_IntList",
               {{"self", {ValueRef{4}}}, {"dim", {ArgList{{int64_t{0}}}}}},
               {5},
               {}}};
  p.outputs = {5};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), 50 * 20 + 2 * 20 * 30 + 30);
  // Over columns, s and then w are summed by it: the product of w with a vector, and of x.
  p.values[5].shape = {50};
  std::get<AtenCall>(p.steps[2]).args["dim"] = {ArgList{{int64_t{-1}}}};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), 2 * 20 * 30 + 2 * 50 * 20);
  // Behind a function that is not linear there is no chain.
  std::get<AtenCall>(p.steps[1]) =
      AtenCall{"aten.relu.default", {{"self", {ValueRef{3}}}}, {4}, {}};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::flops), 2 * 50 * 20 * 30 + 2 * 50 * 30);
}

// x a and x b: one product with both weights reads x once.
TEST(LeastCost, AnOperandOfTwoProductsIsReadOnce) {
  Task task;
  task.state.resize(2);
  Program& p = task.forward;
  for (const auto& [rows, columns] :
       std::vector<std::pair<int, int>>{{9, 2}, {9, 3}, {7, 9}, {7, 2}, {7, 3}}) {
    add(p, rows, columns);
  }
  p.inputs = {0, 1, 2};
  p.steps = {
      AtenCall{"aten.mm.default", {{"self", {ValueRef{2}}}, {"mat2", {ValueRef{0}}}}, {3}, {}},
      AtenCall{"aten.mm.default", {{"self", {ValueRef{2}}}, {"mat2", {ValueRef{1}}}}, {4}, {}}};
  p.outputs = {3, 4};
  EXPECT_EQ(cost_in_best_order(task, step_cost, &Cost::bytes),
            4.0 * (7 * 9 + 9 * (2 + 3) + 7 * (2 + 3)));
}

}  // namespace
}  // namespace kw
