#include "verify/coverage/excess.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

// A task whose forward does `steps` to one input of 1024 elements.
Task with(std::vector<Step> steps, int64_t elements = 1024) {
  Task task;
  task.forward.values = {{DType::kFloat32, {1024}, {1}, 0, 0},
                         {DType::kFloat32, {elements}, {1}, 0, 1}};
  task.forward.inputs = {0};
  task.forward.steps = std::move(steps);
  task.forward.outputs = {1};
  return task;
}

Step relu() { return AtenCall{"aten.relu.default", {{"self", {ValueRef{0}}}}, {1}, {}}; }
Step empty() { return AtenCall{"aten.empty.memory_format", {}, {1}, {}}; }
Step launch(int64_t programs) { return Launch{0, {programs, 1, 1}, {}}; }

TEST(Excess, UsualCandidatesHaveNone) {
  EXPECT_EQ(excess(with({relu()}), with({empty(), launch(1024)})), "");
  EXPECT_EQ(excess(with({relu()}), with({empty(), launch(1 << 20)})), "");
  EXPECT_EQ(excess(with({relu()}), with(std::vector<Step>(100, launch(8)))), "");
}

TEST(Excess, GridsLaunchesAndMemoryCount) {
  const Task reference = with({relu()});
  EXPECT_NE(excess(reference, with({empty(), launch(2147483647)})).find("programs"),
            std::string::npos);
  EXPECT_NE(excess(reference, with(std::vector<Step>(10000, launch(1)))).find("kernels"),
            std::string::npos);
  EXPECT_NE(excess(reference, with({empty()}, int64_t{1} << 30)).find("bytes"), std::string::npos);
}

TEST(Excess, WhatIsMadeBeforeCounts) {
  Task candidate = with({relu()});
  candidate.derive = with({empty()}, int64_t{1} << 30).forward;
  EXPECT_NE(excess(with({relu()}), candidate), "");
}

// A kernel for each time step is usual.
TEST(Excess, TimeStepsAreSteps) {
  const Step lstm = AtenCall{"aten.lstm.input", {{"input", {ValueRef{0}}}}, {1}, {}};
  Task reference = with({lstm});
  reference.forward.values[1].shape = {8, 4096, 64};
  reference.forward.values[1].strides = {4096 * 64, 64, 1};
  EXPECT_EQ(excess(reference, with(std::vector<Step>(3 * 4096, launch(8)))), "");
}

}  // namespace
}  // namespace kw
