// What the tensor memory accelerator asks of an operand, and which products have it fetch theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "policy/test_fragment.h"
#include "teacher/teacher.h"

namespace kw::teacher {
namespace {

std::vector<std::string> product_plans(const ValueId a, const ValueId b, FragmentBuilder& builder,
                                       const std::vector<int64_t>& shape, DType dtype,
                                       const DeviceProfile& device) {
  const std::string op = shape.size() == 3 ? "aten.bmm.default" : "aten.mm.default";
  const Task task =
      builder.build(builder.call(op, {{"self", ref(a)}, {"mat2", ref(b)}}, shape, dtype));
  std::vector<std::string> out;
  for (const Proposal& p : make_teacher()->propose(task, device, 1000, 0, kNoDeadline)) {
    EXPECT_EQ(p.plan.find("TMA") != std::string::npos,
              p.source.find("TensorDescriptor(") != std::string::npos);
    out.push_back(p.plan);
  }
  return out;
}

bool any_with(const std::vector<std::string>& plans, const std::string& text) {
  return std::any_of(plans.begin(), plans.end(),
                     [&](const std::string& plan) { return plan.find(text) != std::string::npos; });
}

std::vector<std::string> mm_plans(std::vector<int64_t> a_strides, std::vector<int64_t> b_strides,
                                  const DeviceProfile& device, DType dtype = DType::kBFloat16) {
  FragmentBuilder b;
  const ValueId x = b.input({4096, 4096}, dtype, std::move(a_strides));
  const ValueId y = b.input({4096, 4096}, dtype, std::move(b_strides));
  return product_plans(x, y, b, {4096, 4096}, dtype, device);
}

TEST(Fetching, PlainMatricesInAnyOrderAreFetched) {
  for (DType dtype : {DType::kBFloat16, DType::kFloat32}) {
    for (const std::vector<int64_t>& a : {std::vector<int64_t>{4096, 1}, {1, 4096}}) {
      const auto plans = mm_plans(a, {4096, 1}, profile(), dtype);
      EXPECT_TRUE(any_with(plans, "TMA BLOCK_M"));
      EXPECT_TRUE(any_with(plans, "TMA persistent BLOCK_M"));
      EXPECT_TRUE(any_with(plans, "TMA flattened BLOCK_M"));
    }
  }
}

TEST(Fetching, NotWithoutTheHardware) {
  DeviceProfile older = profile();
  older.arch = "sm_80";
  const auto plans = mm_plans({4096, 1}, {4096, 1}, older);
  EXPECT_FALSE(plans.empty());
  EXPECT_FALSE(any_with(plans, "TMA"));
}

// Rows that start at no multiple of 16 bytes; gaps in both directions.
TEST(Fetching, NotWhereTheHardwareCannotRead) {
  for (const std::vector<int64_t>& bad : {std::vector<int64_t>{4097, 1}, {2, 8192}, {16384, 2}}) {
    EXPECT_FALSE(any_with(mm_plans(bad, bad, profile()), "TMA")) << bad[0];
    EXPECT_TRUE(any_with(mm_plans(bad, {4096, 1}, profile()), "TMA")) << bad[0];
  }
}

// Matrices of a batch with gaps between them are no single matrix.
TEST(Fetching, BatchesMustFollowEachOther) {
  for (int64_t gap : {0, 8}) {
    FragmentBuilder b;
    const std::vector<int64_t> strides = {512 * 512 + gap, 512, 1};
    const ValueId x = b.input({64, 512, 512}, DType::kBFloat16, strides);
    const ValueId y = b.input({64, 512, 512}, DType::kBFloat16, strides);
    const auto plans = product_plans(x, y, b, {64, 512, 512}, DType::kBFloat16, profile());
    EXPECT_EQ(any_with(plans, "TMA"), gap == 0);
  }
}

TEST(Fetching, SmallProductsDoNotPayForDescriptors) {
  FragmentBuilder b;
  const ValueId x = b.input({64, 64}, DType::kBFloat16), y = b.input({64, 64}, DType::kBFloat16);
  const auto plans = product_plans(x, y, b, {64, 64}, DType::kBFloat16, profile());
  EXPECT_FALSE(plans.empty());
  EXPECT_FALSE(any_with(plans, "TMA"));
}

// Each element of a window is fetched by itself: of a window of three, three tiles for each stage
// but one, beside the two parts of the operand that tf32x3 multiplies. (Triton 3.6 for sm_90 asked
// for so much, and the right operand's: 294912 bytes for BLOCK_M=256, BLOCK_K=32 and three stages.)
TEST(SharedMemory, HoldsEveryElementOfAWindow) {
  FragmentBuilder b;
  const ValueId x = b.input({4891, 10, 1, 90});
  const ValueId pooled = b.call("aten.avg_pool2d.default",
                                {{"self", ref(x)},
                                 {"kernel_size", list({1, 3})},
                                 {"stride", list({1, 2})},
                                 {"padding", list({0, 1})}},
                                {4891, 10, 1, 45});
  const ValueId rows = b.call("aten.view.default",
                              {{"self", ref(pooled)}, {"size", list({48910, 45})}}, {48910, 45});
  const ValueId y = b.input({45, 40});
  const Task task =
      b.build(b.call("aten.mm.default", {{"self", ref(rows)}, {"mat2", ref(y)}}, {48910, 40}));
  ASSERT_EQ(refusal(task, profile()), "");
  std::vector<std::string> plans;
  for (const Proposal& p : make_teacher()->propose(task, profile(), 1000, 0, kNoDeadline))
    plans.push_back(p.plan);
  static const std::regex blocks("BLOCK_M=(\\d+) BLOCK_N=\\d+ BLOCK_K=(\\d+).*stages: (\\d+)");
  size_t checked = 0;
  for (const std::string& plan : plans) {
    std::smatch found;
    if (plan.find("kernels: ") != std::string::npos || !std::regex_search(plan, found, blocks))
      continue;
    ++checked;
    EXPECT_LE((3 * (std::stol(found[3]) - 1) + 2) * std::stol(found[1]) * std::stol(found[2]) * 4,
              profile().shared_per_block)
        << plan;
  }
  EXPECT_GT(checked, 5u);
}

}  // namespace
}  // namespace kw::teacher
