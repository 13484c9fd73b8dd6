#include "program/python/graph_path.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Value value(int storage, std::vector<int64_t> strides = {32, 1}, int64_t offset = 0) {
  return {DType::kFloat32, {16, 32}, std::move(strides), offset, storage};
}

AtenCall call(const std::string& op, ValueId from, ValueId to) {
  return AtenCall{op, {{"self", {ValueRef{from}}}}, {to}, {}};
}

// relu of an argument, which is value 0; value 1 is the result.
Task relu() {
  Task task;
  task.forward.values = {value(0), value(1)};
  task.forward.inputs = {0};
  task.forward.steps = {call("aten.relu.default", 0, 1)};
  task.forward.outputs = {1};
  return task;
}

TEST(GraphPath, StepsThatReadArgumentsAndMakeResultsMayBeAGraph) {
  EXPECT_EQ(no_graph_because(relu()), "");
  Task transposed = relu();
  transposed.forward.values[1].strides = {1, 16};
  EXPECT_EQ(no_graph_because(transposed), "") << "each layout without gaps is copied as it is";
  transposed.forward.values[0].strides = {64, 2};
  EXPECT_EQ(no_graph_because(transposed), "") << "arguments may have gaps";
}

TEST(GraphPath, NothingIsNoGraph) {
  Task task = relu();
  task.forward.steps.clear();
  task.forward.outputs = {0};
  EXPECT_EQ(no_graph_because(task), "its forward has no steps");
}

TEST(GraphPath, RandomNumbersGoByLaunches) {
  Task task = relu();
  task.forward.steps[0] = AtenCall{"aten.rand_like.default", {{"self", {ValueRef{0}}}}, {1}, {}};
  EXPECT_EQ(no_graph_because(task), "its forward draws random numbers");
}

TEST(GraphPath, NumbersThatAreBroughtToTheDeviceWait) {
  Task task = relu();
  task.forward.values.push_back({DType::kFloat32, {1}, {1}, 0, 2});
  AtenCall made{"kernelwright.constant.default", {}, {2}, {}};
  made.args["data"] = {std::vector<Arg>{{1.5}}};
  task.forward.steps.push_back(made);
  EXPECT_EQ(no_graph_because(task), "its forward makes tensors of numbers");
  std::get<AtenCall>(task.forward.steps.back()).args["data"] = {std::vector<Arg>{}};
  EXPECT_EQ(no_graph_because(task), "");
}

TEST(GraphPath, WhatForwardIsGivenMustStay) {
  Task by_operator = relu();
  by_operator.forward.values.push_back(value(0));
  by_operator.forward.steps.push_back(
      AtenCall{"aten.relu_.default", {{"self", {ValueRef{0}}}}, {2}, {0}});
  EXPECT_EQ(no_graph_because(by_operator), "its forward changes a tensor that it is given");
  Task by_kernel = relu();
  Kernel kernel;
  kernel.params = {{"x", "*fp32"}};
  kernel.compiled = Compiled{.reads = {}, .writes = {0}};
  by_kernel.kernels = {kernel};
  by_kernel.forward.steps.push_back(Launch{0, {1, 1, 1}, {{ValueRef{0}}}});
  EXPECT_EQ(no_graph_because(by_kernel), "its forward changes a tensor that it is given");
}

TEST(GraphPath, ResultsMustShareMemoryWithNothing) {
  Task argument = relu();
  argument.forward.outputs = {1, 0};
  EXPECT_EQ(no_graph_because(argument), "its results share memory");
  Task twice = relu();
  twice.forward.outputs = {1, 1};
  EXPECT_EQ(no_graph_because(twice), "its results share memory");
  Task view = relu();
  view.forward.values.push_back(value(1, {1, 16}));
  view.forward.steps.push_back(call("aten.t.default", 1, 2));
  view.forward.outputs = {1, 2};
  EXPECT_EQ(no_graph_because(view), "its results share memory");
}

// A copy has no gaps, and the result of the steps has.
TEST(GraphPath, ResultsMustHaveNoGaps) {
  Task task = relu();
  task.forward.values[1].strides = {64, 1};
  EXPECT_EQ(no_graph_because(task), "a result has gaps in memory");
  task.forward.values[1].strides = {0, 1};
  EXPECT_EQ(no_graph_because(task), "a result has gaps in memory");
}

TEST(GraphPath, ArgumentsAreCopiedSoNoTwoElementsMayBeOne) {
  Task task = relu();
  task.forward.values[0].strides = {0, 1};
  EXPECT_EQ(no_graph_because(task), "an argument has elements that share memory");
  task.forward.values[0].strides = {16, 1};
  EXPECT_EQ(no_graph_because(task), "an argument has elements that share memory");
}

TEST(GraphPath, AnArgumentInPlaceOfStateMayBeShared) {
  Task task = relu();
  task.state = {{{"weight"}, "parameter"}};
  task.forward.values[0].strides = {0, 1};
  EXPECT_EQ(no_graph_because(task), "") << "the graph reads state where it is";
}

}  // namespace
}  // namespace kw
