#include "search/host_time.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Task chain(int steps, bool random) {
  Task task;
  task.forward.values = {{DType::kFloat32, {4}, {1}, 0, 0}};
  task.forward.inputs = {0};
  for (int i = 0; i < steps; ++i) {
    task.forward.values.push_back({DType::kFloat32, {4}, {1}, 0, i + 1});
    const char* op = random ? "aten.rand_like.default" : "aten.relu.default";
    task.forward.steps.push_back(AtenCall{op, {{"self", {ValueRef{i}}}}, {i + 1}, {}});
  }
  task.forward.outputs = {steps};
  return task;
}

TEST(HostTime, AGraphCostsTheHostNothingThatGrows) { EXPECT_EQ(host_seconds(chain(3, false)), 0); }

TEST(HostTime, LaunchesCostTheHostTimeEach) {
  const double few = host_seconds(chain(3, true)), many = host_seconds(chain(30, true));
  EXPECT_GT(few, 0);
  EXPECT_NEAR((many - few) / 27, (host_seconds(chain(4, true)) - few), 1e-12);
}

}  // namespace
}  // namespace kw
