// The axes that a plan names are those of the tensors.
#include "teacher/plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "policy/test_fragment.h"
#include "program/task_json.h"
#include "teacher/teacher.h"

namespace kw::teacher {
namespace {

// What the plan's first part says of axes and tensors.
std::string axes_of(const Task& task) {
  const auto made = make_teacher({.first_name = 7})->propose(task, profile(), 1, 0, kNoDeadline);
  if (made.size() != 1) return "not written";
  static const std::regex axes("; (axes: [^;]*); values: [^;]*(;?.*?); family: ");
  std::smatch found;
  if (!std::regex_search(made[0].plan, found, axes)) return made[0].plan;
  return found[1].str() + found[2].str();
}

Task reduced(std::vector<int64_t> in, const std::vector<int64_t>& dims, std::vector<int64_t> out) {
  FragmentBuilder b;
  const ValueId x = b.input(std::move(in));
  return b.build(b.call("aten.sum.dim_IntList",
                        {{"self", ref(x)}, {"dim", list(dims)}, {"keepdim", Arg{false}}},
                        std::move(out)));
}

Task added(std::vector<int64_t> left, std::vector<int64_t> right, std::vector<int64_t> out,
           std::vector<int64_t> strides = {}) {
  FragmentBuilder b;
  const ValueId x = b.input(std::move(left), DType::kFloat32, std::move(strides)),
                y = b.input(std::move(right));
  return b.build(b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(y)}}, std::move(out)));
}

TEST(Plan, AxesByHand) {
  EXPECT_EQ(axes_of(added({6, 70}, {6, 70}, {6, 70})), "axes: flat; a0: flat; a1: flat");
  EXPECT_EQ(axes_of(added({1, 26, 3, 1}, {5, 4, 26, 3, 2}, {5, 4, 26, 3, 2})),
            "axes: [5, 4, 26, 3, 2]; a0: [_, _, 1, 2, _]; a1: [0, 1, 2, 3, 4]; "
            "loops: [5 * 4, 26 * 3, 2]");
  // Transposed in memory.
  EXPECT_EQ(axes_of(added({6, 70}, {6, 70}, {6, 70}, {1, 6})),
            "axes: [6, 70]; a0: [0, 1]; a1: [0, 1]");
  EXPECT_EQ(axes_of(reduced({30, 40, 50}, {1}, {30, 50})), "axes: [30, 50], [40]; a0: [0, 2], [1]");
  EXPECT_EQ(axes_of(reduced({30, 40, 50, 60}, {2, 3}, {30, 40})),
            "axes: [30, 40], [50, 60]; a0: [0, 1], [2, 3]; loops: [30 * 40], [50 * 60]");
}

// Whichever tensor is the largest.
TEST(Plan, ProductsHaveTheirResultsAxes) {
  const auto product = [](int64_t rows, int64_t columns) {
    FragmentBuilder b;
    const ValueId x = b.input({rows, 640}), y = b.input({640, columns});
    return axes_of(
        b.build(b.call("aten.mm.default", {{"self", ref(x)}, {"mat2", ref(y)}}, {rows, columns})));
  };
  EXPECT_EQ(product(96, 4000), "axes: [96, 4000], [640]; a0: [0, _], [1]; a1: [_, 1], [0]");
  EXPECT_EQ(product(4000, 96), "axes: [4000, 96], [640]; a0: [0, _], [1]; a1: [_, 1], [0]");
}

TEST(Plan, ConvolutionsHaveTheirResultsAxes) {
  const auto convolved = [](int64_t images, int64_t channels) {
    FragmentBuilder b;
    const ValueId x = b.input({images, 24, 50}), w = b.input({channels, 24, 5});
    return axes_of(b.build(b.call("aten.convolution.default",
                                  {{"input", ref(x)},
                                   {"weight", ref(w)},
                                   {"bias", Arg{}},
                                   {"stride", list({1})},
                                   {"padding", list({0})},
                                   {"dilation", list({1})},
                                   {"transposed", Arg{false}},
                                   {"output_padding", list({0})},
                                   {"groups", num(1)}},
                                  {images, channels, 46})));
  };
  EXPECT_EQ(convolved(300, 16).find("axes: [300, 16, 46], ["), 0u) << convolved(300, 16);
  EXPECT_EQ(convolved(2, 4000).find("axes: [2, 4000, 46], ["), 0u) << convolved(2, 4000);
}

// What is read again does not move with the axis.
TEST(Plan, RepeatedAndScannedAxesByHand) {
  {
    FragmentBuilder b;
    const ValueId x = b.input({6, 70}, DType::kFloat32, {0, 1}), y = b.input({6, 70});
    EXPECT_EQ(
        axes_of(b.build(b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(y)}}, {6, 70}))),
        "axes: [6, 70]; a0: [_, 1]; a1: [0, 1]");
  }
  {
    FragmentBuilder b;
    const ValueId x = b.input({6, 1, 70});
    const ValueId wide =
        b.call("aten.expand.default", {{"self", ref(x)}, {"size", list({6, 5, 70})}}, {6, 5, 70});
    const ValueId y = b.input({6, 5, 70});
    EXPECT_EQ(axes_of(b.build(
                  b.call("aten.add.Tensor", {{"self", ref(wide)}, {"other", ref(y)}}, {6, 5, 70}))),
              "axes: [6, 5, 70]; a0: [0, _, 2]; a1: [0, 1, 2]");
  }
  {
    FragmentBuilder b;
    const ValueId x = b.input({6, 70});
    EXPECT_EQ(axes_of(b.build(
                  b.call("aten.cumsum.default", {{"self", ref(x)}, {"dim", num(1)}}, {6, 70}))),
              "axes: [6], [70]; a0: [0], [1]");
  }
}

std::vector<std::string> items(const std::string& lists) {
  std::vector<std::string> out;
  static const std::regex item("[^\\[\\], *]+");
  for (std::sregex_iterator it(lists.begin(), lists.end(), item), end; it != end; ++it) {
    out.push_back(it->str());
  }
  return out;
}

// Of every part of a suite's programs: a tensor has a dimension for as many axes as there are,
// which is as long as those of its axes together, or longer where part of it is read.
TEST(Plan, DimensionsAreAsLongAsTheirAxes) {
  size_t whole = 0, other = 0;
  std::ifstream file(KW_SOURCE_DIR "/suites/level5.jsonl");
  for (std::string row; std::getline(file, row);) {
    const Json json = parse_json(row, "suite");
    const Task task = task_from_json(JsonReader(json.at("program"), "task"), nullptr);
    const auto made =
        make_teacher({.whole = true, .first_name = 7})->propose(task, profile(), 1, 0, kNoDeadline);
    if (made.empty()) continue;
    std::istringstream lines(made[0].plan);
    for (std::string line; std::getline(lines, line);) {
      static const std::regex field("(axes|loops|(?:a|t|out)\\d+): ([^;]*)");
      std::vector<std::string> sizes;
      for (std::sregex_iterator it(line.begin(), line.end(), field), end; it != end; ++it) {
        const std::string name = it->str(1), text = it->str(2);
        if (name == "axes") sizes = items(text);
        if (text == "flat") continue;
        EXPECT_EQ(items(text).size(), sizes.size()) << line;
        if (name == "loops") {
          EXPECT_EQ(items(text), sizes) << line;
        }
        if (name[0] != 'a' || !std::isdigit(name[1])) continue;  // memory between the parts
        const size_t input = std::stoul(name.substr(1));
        std::map<int, int64_t> lengths;
        const std::vector<std::string> dims = items(text);
        for (size_t i = 0; i < dims.size(); ++i) {
          if (dims[i] == "_" || dims[i][0] == '~') continue;
          ASSERT_NE(dims[i][0], '-') << line;
          int64_t& length = lengths.try_emplace(std::stoi(dims[i]), 1).first->second;
          length *= std::stoll(sizes[i]);
        }
        const Value& value = task.forward.values[task.forward.inputs[input]];
        for (const auto& [dim, length] : lengths) {
          ASSERT_LT(dim, static_cast<int>(value.shape.size())) << line;
          (length == value.shape[dim] ? whole : other) += 1;
        }
      }
    }
  }
  EXPECT_GT(whole, 300u);
  EXPECT_LT(other, whole / 20);
}

}  // namespace
}  // namespace kw::teacher
