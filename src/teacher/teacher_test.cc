// The teacher's parts by their properties. Whether the kernels compute what PyTorch computes is
// tests/teacher_oracle.py's question.
#include "teacher/teacher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <regex>
#include <set>

#include "policy/test_fragment.h"
#include "teacher/family/family.h"
#include "teacher/family/row_loops.h"
#include "teacher/graph/parts.h"
#include "teacher/lower/lowering.h"
#include "teacher/module_text.h"

namespace kw::teacher {
namespace {

int count_kind(const Graph& graph, NodeKind kind) {
  int n = 0;
  for (const Node& node : graph.nodes) n += node.kind == kind;
  return n;
}

// ---- Axes

TEST(AxisTable, UnifyingMakesOneLoop) {
  AxisTable t;
  const AxisId a = t.fresh(12), b = t.fresh(12);
  ASSERT_TRUE(t.unify({a}, {b}));
  EXPECT_EQ(t.leaves(a), t.leaves(b));
}

TEST(AxisTable, TheFinerSideSplitsTheOther) {
  AxisTable t;
  const AxisId whole = t.fresh(24), outer = t.fresh(4), inner = t.fresh(6);
  ASSERT_TRUE(t.unify({whole}, {outer, inner}));
  EXPECT_EQ(t.leaves(whole), t.leaves(Axes{outer, inner}));
  EXPECT_EQ(t.size(t.leaves(whole)), 24);
}

TEST(AxisTable, SplittingKeepsTheSizeAndReachesEveryUser) {
  AxisTable t;
  const AxisId a = t.fresh(24), b = t.fresh(24);
  ASSERT_TRUE(t.unify({a}, {b}));
  t.split(t.leaves(a)[0], 3);
  EXPECT_EQ(t.leaves(b).size(), 2u);
  EXPECT_EQ(t.size(t.leaves(b)[0]), 3);
  EXPECT_EQ(t.size(t.leaves(b)[1]), 8);
}

TEST(AxisTable, RefusesSizesThatDoNotDivideAndDiagonals) {
  AxisTable t;
  const AxisId four = t.fresh(4), six = t.fresh(6), other_six = t.fresh(6), other_four = t.fresh(4);
  EXPECT_FALSE(AxisTable(t).unify({four, six}, {other_six, other_four}));
  EXPECT_FALSE(AxisTable(t).unify({four}, {six}));
  AxisTable d;
  const AxisId i = d.fresh(5), j = d.fresh(5), k = d.fresh(25);
  ASSERT_TRUE(d.unify({i}, {j}));
  EXPECT_FALSE(d.unify({i, j}, {k}));
}

// ---- Lowering

TEST(Lowering, ASoftmaxIsTwoReductionsOverOneAxis) {
  const Graph graph = lower(softmax_task(8, 32));
  EXPECT_EQ(count_kind(graph, NodeKind::kReduce), 2);
  EXPECT_EQ(count_kind(graph, NodeKind::kLoad), 1);
  std::set<Axes> reduced;
  for (const Node& node : graph.nodes) {
    if (node.kind == NodeKind::kReduce) reduced.insert(sorted(node.axes));
  }
  EXPECT_EQ(reduced.size(), 1u);
  EXPECT_EQ(graph.axes.size(*reduced.begin()), 32);
}

TEST(Lowering, ATransposedOperandIsAStrideNotACopy) {
  FragmentBuilder b;
  const ValueId x = b.input({4, 6}), y = b.input({6, 4});
  const ValueId t = b.call("aten.t.default", {{"self", ref(y)}}, {4, 6});
  const Task task =
      b.build(b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(t)}}, {4, 6}));
  const Graph graph = lower(task);
  const AccessTable table = access_table(graph, task.forward);
  ASSERT_EQ(count_kind(graph, NodeKind::kLoad), 2);
  std::set<std::set<std::pair<int64_t, int64_t>>> strides;  // (size, stride) of each load
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::kLoad) continue;
    std::set<std::pair<int64_t, int64_t>> own;
    for (const LeafStride& s : table.of_node(static_cast<int>(i)).strides) {
      own.insert({graph.axes.size(s.axis), s.stride});
    }
    strides.insert(own);
  }
  EXPECT_EQ(strides,
            (std::set<std::set<std::pair<int64_t, int64_t>>>{{{4, 6}, {6, 1}}, {{4, 1}, {6, 4}}}));
}

TEST(Lowering, AMatrixPlusItsOwnTransposeReadsItTwice) {
  FragmentBuilder b;
  const ValueId x = b.input({8, 8});
  const ValueId t = b.call("aten.t.default", {{"self", ref(x)}}, {8, 8});
  const Graph graph =
      lower(b.build(b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(t)}}, {8, 8})));
  EXPECT_EQ(count_kind(graph, NodeKind::kLoad), 2);
  EXPECT_EQ(graph.nodes.back().varies.size(), 2u);
}

TEST(Lowering, EqualExpressionsAreComputedOnce) {
  FragmentBuilder b;
  const ValueId x = b.input({8});
  const ValueId p = b.call("aten.exp.default", {{"self", ref(x)}}, {8});
  const ValueId q = b.call("aten.exp.default", {{"self", ref(x)}}, {8});
  const Graph graph =
      lower(b.build(b.call("aten.add.Tensor", {{"self", ref(p)}, {"other", ref(q)}}, {8})));
  EXPECT_EQ(graph.nodes.size(), 3u);  // load, exp, add
}

TEST(Lowering, GroupNormSplitsTheChannels) {
  FragmentBuilder b;
  const ValueId x = b.input({2, 12, 5}), w = b.input({12});
  const Graph graph = lower(
      b.build(b.call("aten.group_norm.default",
                     {{"input", ref(x)}, {"num_groups", num(4)}, {"weight", ref(w)}}, {2, 12, 5})));
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kReduce) continue;
    EXPECT_EQ(graph.axes.size(node.axes), 3 * 5);
  }
  EXPECT_EQ(graph.axes.size(graph.nodes[graph.outputs[0].node].varies), 2 * 12 * 5);
}

TEST(Lowering, SizesComeFromTheArgumentsShapes) {
  const Graph graph = lower(softmax_task(8, 32));
  std::set<std::string> texts;
  for (AxisId leaf : graph.nodes[graph.outputs[0].node].varies)
    texts.insert(graph.size_text.at(leaf));
  EXPECT_EQ(texts, (std::set<std::string>{"a0.shape[0]", "a0.shape[1]"}));
}

// (37 + 2 * 1 - 3) // 2 + 1 by PyTorch's formula; (50 - 2 * (4 - 1) - 1) // 3 + 1, where windows
// may end behind the operand, rounded up.
TEST(Lowering, SizesOfPoolsFollowTheirOperands) {
  FragmentBuilder b;
  const ValueId x = b.input({2, 8, 37, 50});
  const Graph plain = lower(b.build(b.call("aten.avg_pool2d.default",
                                           {{"self", ref(x)},
                                            {"kernel_size", list({3, 1})},
                                            {"stride", list({2, 1})},
                                            {"padding", list({1, 0})}},
                                           {2, 8, 19, 50})));
  FragmentBuilder c;
  const ValueId y = c.input({2, 8, 37, 50});
  const Graph ceiled = lower(c.build(c.call("aten.avg_pool2d.default",
                                            {{"self", ref(y)},
                                             {"kernel_size", list({1, 4})},
                                             {"stride", list({1, 3})},
                                             {"padding", list({0, 0})},
                                             {"ceil_mode", Arg{true}}},
                                            {2, 8, 37, 17})));
  const auto texts = [](const Graph& graph) {
    std::set<std::string> out;
    for (AxisId leaf : graph.nodes[graph.outputs[0].node].varies) {
      out.insert(size_text(graph, {leaf}));
    }
    return out;
  };
  EXPECT_TRUE(texts(plain).count("((a0.shape[2] + 1) // 2)"));
  EXPECT_TRUE(texts(ceiled).count("((a0.shape[3] + 1) // 3)"));
}

TEST(Lowering, RefusesWhatItDoesNotKnow) {
  FragmentBuilder unknown;
  const ValueId x = unknown.input({8, 8});
  EXPECT_THROW(
      lower(unknown.build(unknown.call("aten.linalg_qr.default", {{"A", ref(x)}}, {8, 8}))),
      Refusal);
  FragmentBuilder wrong;  // a recorded shape that contradicts the operator
  const ValueId y = wrong.input({8, 4});
  EXPECT_THROW(lower(wrong.build(wrong.call("aten.sum.dim_IntList",
                                            {{"self", ref(y)}, {"dim", list({1})}}, {4}))),
               Refusal);
  FragmentBuilder empty;
  const ValueId z = empty.input({0, 4});
  EXPECT_THROW(lower(empty.build(empty.call("aten.relu.default", {{"self", ref(z)}}, {0, 4}))),
               Refusal);
}

// exp(x), and two rows of functions behind it; `both`: exp is a result as well.
struct Chain {
  Task task;
  ValueId passed;
  explicit Chain(bool both) {
    FragmentBuilder b;
    const ValueId x = b.input({8, 32});
    passed = b.call("aten.exp.default", {{"self", ref(x)}}, {8, 32});
    task = b.build(b.call("aten.tanh.default", {{"self", ref(passed)}}, {8, 32}));
    if (!both) return;
    task.forward.outputs.push_back(passed);
    task.result = {{"tuple", {{{"out", 0}}, {{"out", 1}}}}};
  }
};

TEST(Lowering, WhatIsStoredIsReadByALaterKernel) {
  const Chain chain(false);
  const Graph graph = lower(chain.task, {.reductions = false, .values = {chain.passed}});
  ASSERT_EQ(graph.outputs.size(), 2u);
  const std::vector<Graph> kernels = levels(graph);
  ASSERT_EQ(kernels.size(), 2u);
  ASSERT_EQ(kernels[0].outputs.size(), 1u);
  EXPECT_EQ(kernels[0].outputs[0].target, graph.inputs);  // behind the arguments
  for (const Node& node : kernels[1].nodes) {
    if (node.kind == NodeKind::kLoad) {
      EXPECT_EQ(node.input, graph.inputs);
    }
  }
}

TEST(Lowering, AResultThatIsStoredIsWrittenOnce) {
  const Chain chain(true);
  const Graph graph = lower(chain.task, {.reductions = false, .values = {chain.passed}});
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.outputs[0].target, -1);
  EXPECT_EQ(graph.outputs[1].target, graph.inputs);
  EXPECT_EQ(access_table(graph, graph.program).bytes(), (8 * 32 * 4) * 4);  // two reads, two stores
}

// Each part of a row writes its own elements, whatever they are written into.
TEST(SplitRows, AllPartsWriteTheirShareOfAResultThatIsStored) {
  FragmentBuilder b;
  const ValueId x = b.input({4, 1 << 20});
  const ValueId y =
      b.call("aten._softmax.default",
             {{"self", ref(x)}, {"dim", num(-1)}, {"half_to_float", Arg{false}}}, {4, 1 << 20});
  Task task =
      b.build(b.call("aten.sum.dim_IntList", {{"self", ref(y)}, {"dim", list({0})}}, {1 << 20}));
  task.forward.outputs.push_back(y);
  task.result = {{"tuple", {{{"out", 0}}, {{"out", 1}}}}};
  int split = 0;
  for (const Proposal& p :
       make_teacher({.whole = true})->propose(task, profile(), 20, 0, kNoDeadline)) {
    if (p.plan.find("tiling: split") == std::string::npos) continue;
    ++split;
    EXPECT_EQ(p.source.find("(part == 0)"), std::string::npos) << p.source;
  }
  EXPECT_GT(split, 0);
}

// Two products in a row: no family walks both.
TEST(Decomposition, AProgramOfStepsThatAreWrittenIsWritten) {
  FragmentBuilder b;
  const ValueId x = b.input({64, 48}), w = b.input({48, 80}), v = b.input({80, 24});
  const ValueId y = b.call("aten.mm.default", {{"self", ref(x)}, {"mat2", ref(w)}}, {64, 80});
  const ValueId z = b.call("aten.relu.default", {{"self", ref(y)}}, {64, 80});
  const Task task =
      b.build(b.call("aten.mm.default", {{"self", ref(z)}, {"mat2", ref(v)}}, {64, 24}));
  EXPECT_TRUE(make_teacher()->propose(task, profile(), 4, 0, kNoDeadline).empty());
  const auto whole = make_teacher({.whole = true})->propose(task, profile(), 4, 0, kNoDeadline);
  ASSERT_EQ(whole.size(), 4u);
  // The element-by-element step belongs to one of the products.
  EXPECT_EQ(whole[0].schedule.at("parts"), 2);
}

// x = x + tanh(x @ y), many times over: names of sizes and work grow with it, and not with its
// square or worse.
TEST(Decomposition, LongProgramsAreWritten) {
  FragmentBuilder b;
  const ValueId y = b.input({16, 16});
  ValueId x = b.input({8, 16});
  for (int i = 0; i < 30; ++i) {
    const ValueId p = b.call("aten.mm.default", {{"self", ref(x)}, {"mat2", ref(y)}}, {8, 16});
    const ValueId t = b.call("aten.tanh.default", {{"self", ref(p)}}, {8, 16});
    x = b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(t)}}, {8, 16});
  }
  const auto whole =
      make_teacher({.whole = true})->propose(b.build(x), profile(), 1, 0, kNoDeadline);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].schedule.at("parts"), 30);
}

// A copy is stored as what an operator makes is: a product reads it, which no view could be.
TEST(Decomposition, CopiesCanBeStored) {
  FragmentBuilder b;
  const ValueId x = b.input({5, 6}), w = b.input({6, 2});
  const ValueId wide = b.call(
      "aten.expand.default",
      {{"self",
        ref(b.call("aten.unsqueeze.default", {{"self", ref(x)}, {"dim", num(1)}}, {5, 1, 6}))},
       {"size", list({5, 3, 6})}},
      {5, 3, 6});
  const ValueId copy = b.call("aten.clone.default", {{"self", ref(wide)}}, {5, 3, 6});
  const ValueId rows =
      b.call("aten.view.default", {{"self", ref(copy)}, {"size", list({15, 6})}}, {15, 6});
  const Task task =
      b.build(b.call("aten.mm.default", {{"self", ref(rows)}, {"mat2", ref(w)}}, {15, 2}));
  EXPECT_EQ(make_teacher({.whole = true})->propose(task, profile(), 1, 0, kNoDeadline).size(), 1u);
}

TEST(Decomposition, AnOperatorThatIsNotWrittenIsRefusedInAProgramToo) {
  FragmentBuilder b;
  const ValueId x = b.input({8, 8});
  const ValueId y = b.call("aten.relu.default", {{"self", ref(x)}}, {8, 8});
  const Task task = b.build(b.call("aten.linalg_qr.default", {{"A", ref(y)}}, {8, 8}));
  EXPECT_TRUE(make_teacher({.whole = true})->propose(task, profile(), 4, 0, kNoDeadline).empty());
}

// Operands of TF32 are rounded where they are copied, or else where they are loaded; exact products
// get them as they are.
TEST(Convolution, OperandsOfTf32AreRounded) {
  FragmentBuilder b;
  const ValueId x = b.input({16, 64, 32, 32}), w = b.input({64, 64, 3, 3});
  const Task task = b.build(b.call("aten.convolution.default",
                                   {{"input", ref(x)},
                                    {"weight", ref(w)},
                                    {"bias", Arg{}},
                                    {"stride", list({1, 1})},
                                    {"padding", list({1, 1})},
                                    {"dilation", list({1, 1})},
                                    {"transposed", Arg{false}},
                                    {"output_padding", list({0, 0})},
                                    {"groups", num(1)}},
                                   {16, 64, 32, 32}));
  std::set<bool> copied;
  for (const Proposal& p : make_teacher()->propose(task, profile(), 1000, 0, kNoDeadline)) {
    const std::regex mention("to_tf32\\(");
    const auto begin = std::sregex_iterator(p.source.begin(), p.source.end(), mention);
    const bool rounds = p.source.find("input_precision=\"tf32\"") != std::string::npos;
    EXPECT_EQ(std::distance(begin, std::sregex_iterator()), rounds ? 3 : 0)
        << p.source;  // with def
    if (rounds) copied.insert(p.plan.find("turned") != std::string::npos);
  }
  EXPECT_EQ(copied.size(), 2u);
}

TEST(Lowering, RefusesToOverwriteAnArgument) {
  FragmentBuilder b;
  const ValueId x = b.input({8});
  const ValueId y = b.call("aten.relu_.default", {{"self", ref(x)}}, {8});
  Task task = b.build(y);
  std::get<AtenCall>(task.forward.steps[0]).mutated = {x};
  task.forward.values[y].storage = task.forward.values[x].storage;
  EXPECT_THROW(lower(task), Refusal);
  EXPECT_TRUE(make_teacher()->propose(task, profile(), 4, 0, kNoDeadline).empty());
}

// A batch norm in training mode over [n, c, l] and, behind it, a counter.
Task training_task() {
  FragmentBuilder b;
  const ValueId x = b.input({4, 6, 50}), mean = b.input({6}), var = b.input({6});
  const ValueId counter = b.input({}, DType::kInt64);
  Arg training, momentum;
  training.v = true;
  momentum.v = 0.3;
  const ValueId y = b.call("aten.batch_norm.default",
                           {{"input", ref(x)},
                            {"running_mean", ref(mean)},
                            {"running_var", ref(var)},
                            {"training", training},
                            {"momentum", momentum}},
                           {4, 6, 50});
  const ValueId next =
      b.call("aten.add_.Tensor", {{"self", ref(counter)}, {"other", num(1)}}, {}, DType::kInt64);
  Task task = b.build(y);
  std::get<AtenCall>(task.forward.steps[0]).mutated = {mean, var};
  std::get<AtenCall>(task.forward.steps[1]).mutated = {counter};
  task.forward.values[next].storage = task.forward.values[counter].storage;
  return task;
}

TEST(Lowering, OverwrittenArgumentsAreOutputsBehindTheResults) {
  const Graph graph = lower(training_task());
  std::vector<int> targets;
  for (const Output& output : graph.outputs) targets.push_back(output.target);
  EXPECT_EQ(targets, (std::vector<int>{-1, 1, 2, 3}));
}

TEST(Lowering, RefusesToOverwriteAPartOfAnArgument) {
  for (const bool aliased : {false, true}) {
    Task task = training_task();
    ASSERT_NO_THROW(lower(task));
    Value& mean = task.forward.values[task.forward.inputs[1]];
    if (aliased) mean.storage = task.forward.values[task.forward.inputs[2]].storage;
    if (!aliased) mean.strides = {0};
    EXPECT_THROW(lower(task), Refusal);
  }
}

// ---- Parts

TEST(Parts, OutputsWithoutCommonComputationAreApart) {
  const std::vector<Graph> parts = independent_parts(lower(training_task()));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].outputs.size(), 3u);  // the result and both statistics
  EXPECT_EQ(count_kind(parts[1], NodeKind::kReduce), 0);
  EXPECT_EQ(parts[1].outputs[0].name, "out3");
}

TEST(Parts, WhatIsReadForTheUpdateAloneIsStoredInPlace) {
  const Graph graph = lower(training_task());
  EXPECT_FALSE(stored_in_place(graph, graph.outputs[0]));
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(stored_in_place(graph, graph.outputs[i])) << i;
  // x += x.t() reads at other places than it writes; a softmax of x reads whole rows.
  for (const bool across : {true, false}) {
    FragmentBuilder b;
    const ValueId x = b.input({8, 8});
    const ValueId other =
        across ? b.call("aten.t.default", {{"self", ref(x)}}, {8, 8})
               : b.call("aten._softmax.default",
                        {{"self", ref(x)}, {"dim", num(1)}, {"half_to_float", Arg{false}}}, {8, 8});
    const ValueId y = b.call("aten.relu.default", {{"self", ref(other)}}, {8, 8});
    const ValueId next = b.call("aten.add_.Tensor", {{"self", ref(x)}, {"other", ref(y)}}, {8, 8});
    Task task = b.build(y);
    std::get<AtenCall>(task.forward.steps.back()).mutated = {x};
    task.forward.values[next].storage = task.forward.values[x].storage;
    const Graph updated = lower(task);
    ASSERT_EQ(updated.outputs.back().target, 0);
    EXPECT_FALSE(stored_in_place(updated, updated.outputs.back())) << across;
  }
}

TEST(Parts, ScratchMemoryIsWrittenBeforeItIsRead) {
  Task task = training_task();
  auto& call = std::get<AtenCall>(task.forward.steps[0]);
  call.op = "aten.instance_norm.default";
  call.args.erase("training");
  call.args["use_input_stats"].v = true;
  const Graph graph = lower(task);
  ASSERT_EQ(graph.outputs.size(), 6u);
  std::set<int> made;
  for (const Graph& level : levels(graph)) {
    for (const Node& node : level.nodes) {
      if (node.kind == NodeKind::kLoad && node.input >= graph.inputs) {
        EXPECT_TRUE(made.count(node.input));
      }
    }
    for (const Output& output : level.outputs) made.insert(output.target);
  }
  EXPECT_TRUE(made.count(graph.inputs) && made.count(graph.inputs + 1));
}

// ---- Rows

RowLoops rows_of(const Task& task) {
  const Graph graph = lower(task);
  const AccessTable table = access_table(graph, task.forward);
  const DeviceProfile device = profile();
  RowLoops rows;
  EXPECT_TRUE(analyse_rows({graph, table, task.forward, device, ""}, &rows));
  return rows;
}

TEST(Rows, LevelsAreWalksAndStagesAreKernels) {
  const RowLoops softmax = rows_of(softmax_task(8, 32));
  EXPECT_EQ(softmax.levels, 2);
  EXPECT_EQ(softmax.stages, 2);
  const RowLoops cumsum = rows_of(cumsum_task(8, 32));
  EXPECT_EQ(cumsum.levels, 0);  // carried along
  EXPECT_EQ(cumsum.stages, 1);  // totals of the parts before
  EXPECT_EQ(cumsum.full_outputs.size(), 1u);
}

TEST(Rows, AnExtremumAndItsPositionAreFoundInOneWalk) {
  const RowLoops rows = rows_of(argmax_task(8, 32));
  EXPECT_EQ(rows.located.size(), 1u);
  EXPECT_EQ(rows.levels, 1);
  EXPECT_EQ(rows.stages, 1);
}

// ---- Loops

TEST(Loops, AnInputThatIsReadTwiceCrossesTheBusOnce) {
  FragmentBuilder b;
  const ValueId x = b.input({8, 8});
  const ValueId t = b.call("aten.t.default", {{"self", ref(x)}}, {8, 8});
  const Task task =
      b.build(b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(t)}}, {8, 8}));
  EXPECT_EQ(access_table(lower(task), task.forward).bytes(), 2 * 8 * 8 * 4);
}

TEST(Loops, ContiguousAxesMergeAndBroadcastOnesDoNot) {
  FragmentBuilder b;
  const ValueId x = b.input({4, 6, 8}), y = b.input({8});
  const Task task =
      b.build(b.call("aten.add.Tensor", {{"self", ref(x)}, {"other", ref(y)}}, {4, 6, 8}));
  const Graph graph = lower(task);
  const AccessTable table = access_table(graph, task.forward);
  const auto loops = merged_loops(graph, table, graph.nodes[graph.outputs[0].node].varies);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].size, 24);
  EXPECT_EQ(loops[1].size, 8);
}

// ---- Proposals

std::vector<Task> samples() {
  FragmentBuilder mean;
  const ValueId x = mean.input({64, 4096});
  return {softmax_task(1, 7),
          softmax_task(512, 1000),
          softmax_task(3, 100000),
          softmax_task(70000, 32),
          cumsum_task(3, 100000),
          cumsum_task(512, 1000),
          argmax_task(3, 100000),
          argmax_task(512, 1000),
          linear_task(64, 64, 64, DType::kFloat32),
          linear_task(1024, 4096, 1024, DType::kFloat32),
          linear_task(4, 4096, 1024, DType::kBFloat16),
          linear_task(4000, 130, 8192, DType::kFloat16),
          mean.build(mean.call("aten.mean.default", {{"self", ref(x)}}, {}))};
}

TEST(Proposals, AreTheSameEachTime) {
  for (const Task& task : samples()) {
    const auto once = make_teacher()->propose(task, profile(), 16, 1, kNoDeadline);
    const auto again = make_teacher()->propose(task, profile(), 16, 2, kNoDeadline);
    ASSERT_FALSE(once.empty());
    ASSERT_EQ(once.size(), again.size());
    for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].source, again[i].source);
  }
}

TEST(Proposals, FewerAreAPrefixOfMore) {
  for (const Task& task : samples()) {
    const auto few = make_teacher()->propose(task, profile(), 2, 0, kNoDeadline);
    const auto many = make_teacher()->propose(task, profile(), 8, 0, kNoDeadline);
    ASSERT_LE(few.size(), 2u);
    for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].source, many[i].source);
  }
}

TEST(Proposals, DifferAndHaveAnEstimate) {
  for (const Task& task : samples()) {
    std::set<std::string> sources;
    for (const Proposal& p : make_teacher()->propose(task, profile(), 1000, 0, kNoDeadline)) {
      EXPECT_TRUE(sources.insert(p.source).second);
      EXPECT_GE(p.model_seconds, profile().launch_seconds);
      EXPECT_LT(p.model_seconds, 1.0);
      EXPECT_NE(p.plan.find("family: " + p.family), std::string::npos);
    }
  }
}

TEST(Proposals, KernelNamesAreUniqueByContent) {
  std::map<std::string, std::string> bodies;
  const std::regex kernel("@triton\\.jit\ndef (fused_\\w+)(\\([^]*?)\n\n\n");
  const std::regex line_break("\n +");  // parameter lists break by the length of the name
  for (const Task& task : samples()) {
    for (const Proposal& p : make_teacher()->propose(task, profile(), 1000, 0, kNoDeadline)) {
      for (std::sregex_iterator it(p.source.begin(), p.source.end(), kernel), end; it != end;
           ++it) {
        const std::string body = std::regex_replace((*it)[2].str(), line_break, " ");
        EXPECT_EQ(bodies.emplace((*it)[1].str(), body).first->second, body);
      }
    }
  }
  EXPECT_GE(bodies.size(), 6u);  // block sizes are parameters: schedules of one structure share it
}

int64_t number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + key.size()));
}

// The operands of all stages of a product's pipeline fit the device's shared memory.
TEST(Schedules, ProductsFitSharedMemoryOfTheDevice) {
  for (int64_t shared : {101376, 166912, 232448}) {
    DeviceProfile device = profile();
    device.shared_per_block = shared;
    for (auto [dtype, bytes] : {std::pair{DType::kFloat32, 4}, {DType::kBFloat16, 2}}) {
      const auto proposals = make_teacher()->propose(linear_task(4096, 4096, 4096, dtype), device,
                                                     1000, 0, kNoDeadline);
      ASSERT_FALSE(proposals.empty());
      for (const Proposal& p : proposals) {
        const int64_t m = number_after(p.plan, "BLOCK_M="), n = number_after(p.plan, "BLOCK_N="),
                      k = number_after(p.plan, "BLOCK_K="),
                      stages = number_after(p.plan, "stages: ");
        EXPECT_LE((m + n) * k * bytes * stages, shared) << p.plan;
        EXPECT_GE(m, 16);
        EXPECT_GE(n, 16);
        EXPECT_GE(k, 16);
      }
    }
  }
}

TEST(Schedules, TilesStayWithinRegistersAndTritonsLimit) {
  for (const Task& task : samples()) {
    for (const Proposal& p : make_teacher()->propose(task, profile(), 1000, 0, kNoDeadline)) {
      const int64_t warps = number_after(p.plan, "warps: ");
      EXPECT_TRUE(warps >= 1 && warps <= 32 && (warps & (warps - 1)) == 0) << p.plan;
      const int64_t m = std::max<int64_t>(1, number_after(p.plan, "BLOCK_M=")),
                    n = std::max<int64_t>(1, number_after(p.plan, "BLOCK_N="));
      EXPECT_LE(m * n, int64_t{1} << 20);
      EXPECT_LE(m * n / (32 * warps), 160) << p.plan;
    }
  }
}

TEST(Schedules, LargeTensorsGet64BitOffsets) {
  FragmentBuilder small, large;
  const ValueId x = small.input({1 << 20}), y = large.input({int64_t{1} << 31});
  const Task a = small.build(small.call("aten.exp.default", {{"self", ref(x)}}, {1 << 20}));
  const Task b =
      large.build(large.call("aten.exp.default", {{"self", ref(y)}}, {int64_t{1} << 31}));
  EXPECT_EQ(make_teacher()->propose(a, profile(), 1, 0, kNoDeadline).at(0).source.find("int64"),
            std::string::npos);
  EXPECT_NE(make_teacher()->propose(b, profile(), 1, 0, kNoDeadline).at(0).source.find("tl.int64"),
            std::string::npos);
}

// Elements a thread of the first flat schedule.
int64_t flat_elements(const Task& task) {
  for (const Proposal& p : make_teacher()->propose(task, profile(), 100, 0, kNoDeadline)) {
    if (p.plan.find("flat") == std::string::npos) continue;
    return number_after(p.plan, " BLOCK=") / (32 * number_after(p.plan, "warps: "));
  }
  return 0;
}

TEST(Schedules, ThreadsOfWindowsHoldFewElements) {
  // Windows with a stride, and next to one another; of images and of sequences.
  for (int64_t stride : {1, 2, 3}) {
    const int64_t size = 1 << 10, out = (size - 3) / stride + 1;
    FragmentBuilder two, one;
    const ValueId x = two.input({64, size, size}), y = one.input({4096, 8, size});
    EXPECT_LE(
        flat_elements(two.build(two.call(
            "aten.avg_pool2d.default",
            {{"self", ref(x)}, {"kernel_size", list({3, 3})}, {"stride", list({stride, stride})}},
            {64, out, out}))),
        2);
    EXPECT_LE(flat_elements(one.build(one.call(
                  "aten.avg_pool1d.default",
                  {{"self", ref(y)}, {"kernel_size", list({3})}, {"stride", list({stride})}},
                  {4096, 8, out}))),
              2);
  }
}

TEST(Schedules, ThreadsOfWholeVectorsHoldAVector) {
  FragmentBuilder b, halves;
  const ValueId x = b.input({1 << 13, 1 << 12}), y = halves.input({1 << 13, 1 << 12});
  EXPECT_GE(
      flat_elements(b.build(b.call("aten.exp.default", {{"self", ref(x)}}, {1 << 13, 1 << 12}))),
      4);
  // Two halves of a row are as good.
  const std::vector<int64_t> half = {1 << 13, 1 << 11};
  const auto narrow = [&](int64_t start) {
    return halves.call(
        "aten.slice.Tensor",
        {{"self", ref(y)}, {"dim", num(1)}, {"start", num(start)}, {"end", num(start + (1 << 11))}},
        half);
  };
  const ValueId left = narrow(0), right = narrow(1 << 11);
  EXPECT_GE(flat_elements(halves.build(halves.call(
                "aten.mul.Tensor", {{"self", ref(left)}, {"other", ref(right)}}, half))),
            4);
}

TEST(Schedules, FewLongRowsAreSplit) {
  FragmentBuilder b;
  const ValueId x = b.input({2, int64_t{1} << 24});
  const Task task =
      b.build(b.call("aten.sum.dim_IntList", {{"self", ref(x)}, {"dim", list({1})}}, {2}));
  const int64_t n = int64_t{1} << 24;
  for (const Task& few : {task, cumsum_task(2, n), argmax_task(2, n), softmax_task(2, n)}) {
    const auto proposals = make_teacher()->propose(few, profile(), 1, 0, kNoDeadline);
    ASSERT_EQ(proposals.size(), 1u);
    EXPECT_NE(proposals[0].plan.find("split"), std::string::npos);
  }
}

}  // namespace
}  // namespace kw::teacher
