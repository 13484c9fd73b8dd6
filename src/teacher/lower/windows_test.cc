// Small windows are loops in the kernel's text, however many elements they have.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "policy/test_fragment.h"
#include "teacher/teacher.h"

namespace kw::teacher {
namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t out = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++out;
  return out;
}

// Returns the pointwise family's kernel of a pooled image, with windows of `size` by `size`.
std::string pooled(int64_t size, int64_t padding, DType type) {
  FragmentBuilder b;
  const ValueId x = b.input({64, 64, 32, 32}, type);
  const int64_t out = 32 + 2 * padding - size + 1;
  const Task task = b.build(b.call("aten.avg_pool2d.default",
                                   {{"self", ref(x)},
                                    {"kernel_size", list({size, size})},
                                    {"stride", list({1, 1})},
                                    {"padding", list({padding, padding})}},
                                   {64, 64, out, out}, type));
  for (const Proposal& proposal : make_teacher()->propose(task, profile(), 8, 0, kNoDeadline)) {
    if (proposal.family == "pointwise") return proposal.source;
  }
  return "";
}

TEST(SmallWindows, AreLoopsOfConstants) {
  for (const DType type : {DType::kFloat32, DType::kFloat16}) {
    for (const int64_t padding : {0, 1}) {
      const std::string few = pooled(3, padding, type), many = pooled(5, padding, type);
      for (const std::string& text : {few, many}) {
        EXPECT_EQ(count(text, "tl.static_range("), 2u) << text;
        EXPECT_EQ(count(text, "tl.load("), 1u) << text;
      }
      EXPECT_EQ(count(few, "\n"), count(many, "\n"));
    }
  }
}

// Functions that are long when written out are written out a few times only. 64 times two cosines
// of a tile, or 64 logarithms of a softplus, took ptxas more than two minutes.
TEST(SmallWindows, OfLongFunctionsAreWalked) {
  const auto loops = [](const std::string& op) {
    FragmentBuilder b;
    const std::vector<int64_t> shape = {8, 32, 32, 32}, pooled_shape = {8, 29, 29, 29};
    const ValueId once = b.call(op, {{"self", ref(b.input(shape))}}, shape);
    const ValueId twice = b.call(op, {{"self", ref(once)}}, shape);
    const Task task = b.build(b.call(
        "aten.avg_pool3d.default",
        {{"self", ref(twice)}, {"kernel_size", list({4, 4, 4})}, {"stride", list({1, 1, 1})}},
        pooled_shape));
    size_t most = 0;
    for (const Proposal& proposal : make_teacher()->propose(task, profile(), 8, 0, kNoDeadline))
      most = std::max(most, count(proposal.source, "tl.static_range("));
    return most;
  };
  EXPECT_EQ(loops("aten.neg.default"), 3u);
  EXPECT_EQ(loops("aten.cos.default"), 0u);
  EXPECT_EQ(loops("aten.log1p.default"), 0u);
}

// The padding alone decides whether the kernel asks about the far end, not the sizes. The last
// window of 31 elements by steps of 2 ends at the last element, padded or not.
TEST(Windows, HaveBothGuardsOrNone) {
  const auto text = [](int64_t padding, int64_t size) {
    FragmentBuilder b;
    const ValueId x = b.input({64, 64, size, size});
    const int64_t out = (size + 2 * padding - 3) / 2 + 1;
    const Task task = b.build(b.call("aten.avg_pool2d.default",
                                     {{"self", ref(x)},
                                      {"kernel_size", list({3, 3})},
                                      {"stride", list({2, 2})},
                                      {"padding", list({padding, padding})}},
                                     {64, 64, out, out}, DType::kFloat32));
    for (const Proposal& proposal : make_teacher()->propose(task, profile(), 8, 0, kNoDeadline)) {
      if (proposal.family == "pointwise") return proposal.source;
    }
    return std::string();
  };
  for (const int64_t size : {31, 32}) {
    const std::string end = " < " + std::to_string(size) + ")";
    EXPECT_EQ(count(text(1, size), " >= 0) & ("), 2u) << text(1, size);
    EXPECT_EQ(count(text(1, size), end), 2u) << text(1, size);
    EXPECT_EQ(count(text(0, size), " >= 0"), 0u);
    EXPECT_EQ(count(text(0, size), end), 0u);
  }
}

}  // namespace
}  // namespace kw::teacher
