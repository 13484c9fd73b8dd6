#include "program/inputs/thresholds.h"

#include <gtest/gtest.h>

#include <limits>

namespace kw {
namespace {

// Programs of one input, value 0, whose steps all take it as `self`.
class ThresholdSteps {
 public:
  explicit ThresholdSteps(DType dtype = DType::kFloat32) {
    program.values.push_back({dtype, {8}, {1}, 0, 0});
    program.inputs = {0};
  }
  ValueId add(const std::string& op, std::map<std::string, Arg> args, ValueId self = 0) {
    const auto id = static_cast<ValueId>(program.values.size());
    program.values.push_back({DType::kFloat32, {8}, {1}, 0, id});
    if (self >= 0) args["self"] = {ValueRef{self}};
    program.steps.push_back(AtenCall{op, std::move(args), {id}, {}});
    return id;
  }
  std::vector<double> found() const {
    std::vector<double> out;
    for (const Threshold& threshold : all()) out.push_back(threshold.at);
    return out;
  }
  // `state` of the program's inputs are no arguments.
  std::vector<Threshold> all(size_t state = 0) const {
    Task task;
    task.forward = program;
    task.inputs.outputs.resize(program.inputs.size() - state);
    return named_thresholds(task);
  }
  Program program;
};

std::vector<double> of(const std::string& op, const std::map<std::string, Arg>& args) {
  ThresholdSteps steps;
  steps.add(op, args);
  return steps.found();
}

using List = std::vector<double>;

TEST(Thresholds, AreWhatOperatorsName) {
  EXPECT_EQ(of("aten.clamp.default", {{"min", {-1000.0}}, {"max", {int64_t{50}}}}),
            (List{-1000, 50}));
  EXPECT_EQ(of("aten.clamp_.default", {{"max", {2.5}}}), (List{2.5}));
  EXPECT_EQ(of("aten.clamp_min.default", {{"min", {-3.0}}}), (List{-3}));
  EXPECT_EQ(of("aten.threshold.default", {{"threshold", {9.0}}, {"value", {0.0}}}), (List{9}));
  EXPECT_EQ(of("aten.gt.Scalar", {{"other", {40.0}}}), (List{40}));
  EXPECT_EQ(of("aten.hardtanh.default", {}), (List{-1, 1}));
  EXPECT_EQ(of("aten.hardtanh.default", {{"min_val", {-20.0}}, {"max_val", {30.0}}}),
            (List{-20, 30}));
  EXPECT_EQ(of("aten.softshrink.default", {{"lambd", {7.0}}}), (List{7, -7}));
  EXPECT_EQ(of("aten.hardswish.default", {}), (List{3, -3}));
  EXPECT_EQ(of("aten.huber_loss.default", {{"delta", {16.0}}}), (List{16, -16}));
  EXPECT_EQ(of("aten.softplus.default", {{"beta", {2.0}}}), (List{10}));
}

TEST(Thresholds, AreZeroWhereANumberWasAdded) {
  ThresholdSteps steps;
  const ValueId margin = steps.add("aten.rsub.Scalar", {{"other", {30.0}}});
  const ValueId half = steps.add("aten.div.Tensor", {{"other", {2.0}}}, margin);
  steps.add("aten.relu.default", {}, half);
  steps.add("aten.relu.default", {}, steps.add("aten.mul.Tensor", {{"other", {3.0}}}));
  const auto found = steps.all();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].operand, half);
  EXPECT_EQ(found[0].at, 0);
}

TEST(Thresholds, AreZeroWhereTheStateWasAdded) {
  ThresholdSteps steps;
  steps.program.values.push_back(steps.program.values[0]);
  steps.program.values[1].storage = 1;
  steps.program.inputs = {1, 0};
  const ValueId fixed = steps.add("aten.exp.default", {}, 1);
  const ValueId shifted = steps.add("aten.sub.Tensor", {{"other", {ValueRef{fixed}}}});
  steps.add("aten.abs.default", {}, shifted);
  steps.add("aten.abs.default", {}, steps.add("aten.add.Tensor", {{"other", {ValueRef{0}}}}));
  ASSERT_EQ(steps.all(1).size(), 1u);
  EXPECT_EQ(steps.all(1)[0].operand, shifted);
}

TEST(Thresholds, AreWhereRoundingsAndRemaindersJump) {
  EXPECT_EQ(of("aten.floor.default", {}), (List{1, -1}));
  EXPECT_EQ(of("aten.remainder.Scalar", {{"other", {50.0}}}), (List{50, -50}));
}

TEST(Thresholds, AreNotWhatSaysNothing) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of("aten.clamp.default", {{"min", {0.0}}}), List{});  // other signs are tried anyway
  EXPECT_EQ(of("aten.lt.Scalar", {{"other", {kInfinity}}}), List{});
  EXPECT_EQ(of("aten.clamp.default", {{"min", {-1e38}}}), List{});
  EXPECT_EQ(of("aten.add.Tensor", {{"other", {4.0}}}), List{});
  ThresholdSteps whole(DType::kInt64);  // whole numbers have variations of their own
  whole.add("aten.clamp.default", {{"max", {int64_t{5}}}});
  EXPECT_EQ(whole.found(), List{});
}

TEST(Thresholds, MayBeATensorOfOneNumber) {
  ThresholdSteps steps;
  const ValueId limit =
      steps.add("kernelwright.constant.default", {{"data", {ArgList{{60.0}}}}}, -1);
  steps.add("aten.minimum.default", {{"other", {ValueRef{limit}}}});
  const ValueId full = steps.add("aten.full.default", {{"fill_value", {-70.0}}}, -1);
  steps.add("aten.maximum.default", {{"other", {ValueRef{0}}}}, full);
  steps.add("aten.lt.Tensor", {{"other", {ValueRef{0}}}}, full);
  EXPECT_EQ(steps.found(), (List{60, -70}));
}

TEST(Thresholds, MayBeATensorOfAnyNumbers) {
  ThresholdSteps steps;
  const ValueId many =
      steps.add("kernelwright.constant.default", {{"data", {ArgList{{1.0}, {2.0}}}}}, -1);
  steps.add("aten.minimum.default", {{"other", {ValueRef{many}}}});
  steps.add("aten.gt.Tensor", {{"other", {ValueRef{0}}}}, many);  // the same two
  const ValueId bound = steps.add("aten.exp.default", {});
  steps.add("aten.clamp.Tensor", {{"max", {ValueRef{bound}}}});
  const auto found = steps.all();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].operand, 0);
  EXPECT_EQ(found[0].limit, many);
  EXPECT_EQ(found[1].operand, 0);
  EXPECT_EQ(found[1].limit, bound);
}

TEST(ComparedNumbers, AreThoseThatInputsMeetAsTheyAre) {
  ThresholdSteps steps;
  const ValueId view = steps.add("aten.view.default", {});
  steps.add("aten.ge.Scalar", {{"other", {0.5}}}, view);
  steps.add("aten.eq.Scalar", {{"other", {int64_t{-1}}}});
  steps.add("aten.gt.Scalar", {{"other", {7.0}}}, steps.add("aten.exp.default", {}));
  steps.add("aten.clamp.default", {{"max", {9.0}}});  // the same on either side
  Task task;
  task.forward = steps.program;
  task.inputs.outputs = {0};
  EXPECT_EQ(compared_numbers(task), (std::vector<List>{{0.5, -1}}));
}

TEST(ComparedNumbers, MayBeLimitsOfBuckets) {
  ThresholdSteps steps;
  const ValueId limits =
      steps.add("kernelwright.constant.default", {{"data", {ArgList{{-0.5}, {0.25}, {2.0}}}}}, -1);
  steps.add("aten.bucketize.Tensor", {{"boundaries", {ValueRef{limits}}}});
  Task task;
  task.forward = steps.program;
  task.inputs.outputs = {0};
  EXPECT_EQ(compared_numbers(task), (std::vector<List>{{-0.5, 0.25, 2}}));
}

TEST(Thresholds, CountOnceForEachOperand) {
  ThresholdSteps steps;
  steps.add("aten.clamp.default", {{"max", {5.0}}});
  steps.add("aten.gt.Scalar", {{"other", {5.0}}});
  const ValueId y = steps.add("aten.exp.default", {});
  steps.add("aten.gt.Scalar", {{"other", {5.0}}}, y);
  const auto found = steps.all();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].operand, 0);
  EXPECT_EQ(found[0].step, 0);
  EXPECT_EQ(found[1].operand, y);
  EXPECT_EQ(found[1].step, 3);
}

}  // namespace
}  // namespace kw
