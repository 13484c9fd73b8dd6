#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "report/graph/program_graph.h"
#include "report/test_program.h"

namespace kw {
namespace {

constexpr double kSlack = 1e-6;

struct Box {
  double left, top, right, bottom;
};

Box with_tabs(const GraphNode& n) {
  return {n.x, n.y, n.x + n.width, n.y + n.height + (n.tabs.empty() ? 0 : kTabHeight)};
}
Box frame_box(const GraphGroup& g) { return {g.x, g.y, g.x + g.width, g.y + g.height}; }

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right - kSlack && b.left < a.right - kSlack && a.top < b.bottom - kSlack &&
         b.top < a.bottom - kSlack;
}
bool contains(const Box& a, const Box& b) {
  return a.left <= b.left + kSlack && a.top <= b.top + kSlack && a.right >= b.right - kSlack &&
         a.bottom >= b.bottom - kSlack;
}

// Runs of consecutive steps as groups, with gaps.
std::vector<GraphGroup> random_groups(std::mt19937& rng, int steps) {
  std::vector<GraphGroup> groups;
  for (int at = static_cast<int>(rng() % 4); at < steps;) {
    GraphGroup group;
    group.title = "group";
    for (int size = 1 + static_cast<int>(rng() % 6); size > 0 && at < steps; --size) {
      group.steps.push_back(at++);
    }
    groups.push_back(group);
    at += static_cast<int>(rng() % 5);
  }
  return groups;
}

void expect_no_overlap(const ProgramGraph& graph) {
  const Box canvas{0, 0, graph.width, graph.height};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Box box = with_tabs(graph.nodes[i]);
    EXPECT_TRUE(contains(canvas, box));
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(overlap(box, with_tabs(graph.nodes[j]))) << "boxes " << j << " and " << i;
    }
    double right = 0;  // tabs are side by side under their box
    for (const GraphTab& tab : graph.nodes[i].tabs) {
      EXPECT_GE(tab.x, right);
      right = tab.x + tab.width;
    }
    EXPECT_LE(right, graph.nodes[i].width + kSlack);
  }
}

void expect_frames_hold_their_steps(const ProgramGraph& graph) {
  for (size_t g = 0; g < graph.groups.size(); ++g) {
    if (!graph.groups[g].framed) continue;
    const Box frame = frame_box(graph.groups[g]);
    for (const GraphNode& node : graph.nodes) {
      if (node.group == static_cast<int>(g)) {
        EXPECT_TRUE(contains(frame, with_tabs(node)));
      } else {
        EXPECT_FALSE(overlap(frame, with_tabs(node)));
      }
    }
    for (size_t h = 0; h < g; ++h) {
      EXPECT_FALSE(graph.groups[h].framed && overlap(frame, frame_box(graph.groups[h])));
    }
  }
}

// Every route runs down from its tab to its box and passes through no other box.
void expect_clear_routes(const ProgramGraph& graph) {
  for (const GraphEdge& e : graph.edges) {
    const GraphNode &from = graph.nodes[e.from], &to = graph.nodes[e.to];
    ASSERT_GE(e.route.size(), 2u);
    const GraphTab& tab = from.tabs[e.tab];
    EXPECT_NEAR(e.route.front().x, from.x + tab.x + tab.width / 2, kSlack);
    EXPECT_NEAR(e.route.front().y, from.y + from.height + kTabHeight, kSlack);
    EXPECT_NEAR(e.route.back().y, to.y, kSlack);
    EXPECT_GT(e.route.back().x, to.x);
    EXPECT_LT(e.route.back().x, to.x + to.width);
    for (size_t i = 1; i < e.route.size(); ++i) {
      const Point &p = e.route[i - 1], &q = e.route[i];
      EXPECT_GE(q.y, p.y - kSlack);
      const Box hull{std::min(p.x, q.x), p.y, std::max(p.x, q.x), q.y};
      for (const GraphNode& node : graph.nodes) {
        const Box widened{hull.left - 0.1, hull.top, hull.right + 0.1, hull.bottom};
        EXPECT_FALSE(overlap(widened, with_tabs(node))) << "edge " << e.from << " -> " << e.to;
      }
    }
  }
}

// (producer's value, consumer) pairs straight from the program; consumers are steps, or
// steps.size() + k for output k. Parameters have no box.
std::set<std::pair<ValueId, size_t>> dataflow(const Task& task) {
  std::set<std::pair<ValueId, size_t>> out;
  const Program& program = task.forward;
  const size_t states = task.state.size();
  const auto add = [&](ValueId id, size_t consumer) {
    for (size_t i = 0; i < states; ++i) {
      if (program.inputs[i] == id) return;
    }
    out.emplace(id, consumer);
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    for (const auto& [name, arg] : std::get<AtenCall>(program.steps[i]).args) {
      if (arg.is_value()) add(arg.value(), i);
    }
  }
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    add(program.outputs[k], program.steps.size() + k);
  }
  return out;
}

std::set<std::pair<ValueId, size_t>> drawn(const ProgramGraph& graph, size_t steps) {
  std::set<std::pair<ValueId, size_t>> out;
  size_t outputs = 0;
  std::vector<size_t> consumer;
  for (const GraphNode& node : graph.nodes) {
    const bool output = node.kind == GraphNode::Kind::kOutput;
    consumer.push_back(output ? steps + outputs++ : static_cast<size_t>(node.step));
  }
  for (const GraphEdge& e : graph.edges) {
    const bool fresh = out.emplace(graph.nodes[e.from].tabs[e.tab].value, consumer[e.to]).second;
    EXPECT_TRUE(fresh) << "an edge is drawn twice";
  }
  return out;
}

bool equal(const ProgramGraph& a, const ProgramGraph& b) {
  for (size_t e = 0; e < a.edges.size(); ++e) {
    if (a.edges[e].route != b.edges[e].route) return false;
  }
  return a.width == b.width && a.height == b.height && a.edges.size() == b.edges.size();
}

TEST(Graph, RandomProgramsAreDrawnWholeAndClear) {
  std::mt19937 rng(11);
  int framed = 0, groups = 0;
  for (int steps : {1, 2, 5, 12, 12, 12, 30, 30, 60, 200}) {
    const Task task = random_task(rng, steps);
    const StepText text(task);
    const ProgramGraph graph = draw_program(text, random_groups(rng, steps));
    expect_no_overlap(graph);
    expect_frames_hold_their_steps(graph);
    expect_clear_routes(graph);
    EXPECT_EQ(drawn(graph, steps), dataflow(task));
    EXPECT_TRUE(equal(graph, draw_program(text, graph.groups)));
    for (const GraphGroup& g : graph.groups) framed += g.framed;
    groups += static_cast<int>(graph.groups.size());
  }
  EXPECT_GT(framed, groups / 4);  // random runs often depend on each other; not all may
}

TEST(Graph, ChainsAreStraight) {
  TestProgram p;
  ValueId x = p.argument("x", {64, 64});
  for (int i = 0; i < 20; ++i) x = p.call("aten.relu.default", p.tensors({{"self", x}}), {64, 64});
  const Task task = p.finish({x});
  const StepText text(task);
  GraphGroup group;
  group.steps = {3, 4, 5, 6};
  const ProgramGraph graph = draw_program(text, {group});
  for (const GraphEdge& e : graph.edges) {
    for (const Point& point : e.route) EXPECT_NEAR(point.x, e.route.front().x, 0.5);
  }
}

TEST(Graph, FramesThatDependOnEachOtherComeOff) {
  TestProgram p;
  const ValueId x = p.argument("x", {4});
  const ValueId a1 = p.add(x, x), b2 = p.add(x, x);
  const ValueId b1 = p.add(b2, a1), a2 = p.add(a1, b2);
  const Task task = p.finish({b1, a2});
  GraphGroup a, b, alone;
  a.steps = {0, 3};
  b.steps = {1, 2};
  const ProgramGraph graph = draw_program(StepText(task), {a, b});
  EXPECT_NE(graph.groups[0].framed, graph.groups[1].framed);
  expect_no_overlap(graph);
  expect_frames_hold_their_steps(graph);
  expect_clear_routes(graph);
}

TEST(Graph, WritesInPlaceFeedLaterReaders) {
  TestProgram p;
  const ValueId x = p.argument("x", {4, 4});
  const ValueId y = p.add(x, x);
  const ValueId view = p.call("aten.t.default", p.tensors({{"self", y}}), {4, 4}, y);
  const ValueId z = p.call("aten.relu_.default", p.tensors({{"self", y}}), {4, 4}, y, true);
  const ValueId sum = p.add(view, z);  // the view shows what relu_ wrote
  const ProgramGraph graph = draw_program(StepText(p.finish({sum})), {});
  const auto node_of = [&](int step) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].step == step) return static_cast<int>(i);
    }
    return -1;
  };
  std::set<ValueId> from_relu;
  for (const GraphEdge& e : graph.edges) {
    if (e.from == node_of(2) && e.to == node_of(3)) {
      from_relu.insert(graph.nodes[e.from].tabs[e.tab].value);
    }
  }
  EXPECT_EQ(from_relu, (std::set<ValueId>{view, z}));
  EXPECT_TRUE(graph.nodes[node_of(1)].faint);
  expect_no_overlap(graph);
}

TEST(Graph, HostileGroupsAreTolerated) {
  std::mt19937 rng(3);
  const Task task = random_task(rng, 5);
  GraphGroup a, b, empty;
  a.steps = {-1, 0, 1, 99};
  b.steps = {1, 1, 2};
  const ProgramGraph graph = draw_program(StepText(task), {a, b, empty});
  EXPECT_EQ(graph.groups[0].steps, (std::vector<int>{0, 1}));
  EXPECT_EQ(graph.groups[1].steps, (std::vector<int>{2}));
  EXPECT_FALSE(graph.groups[2].framed);
  expect_no_overlap(graph);
}

TEST(StepText, ReadsAsPeopleWrite) {
  EXPECT_EQ(steps_text({3, 4, 5, 7, 9, 10}), "3–5, 7, 9, 10");
  EXPECT_EQ(ellipsis("häuser", 4), "häu…");
  EXPECT_EQ(ellipsis("haus", 4), "haus");
  TestProgram p;
  const ValueId w = p.state("fc.weight", {8, 16}), x = p.argument("x", {4, 16});
  const ValueId y = p.call("aten.linear.default", p.tensors({{"input", x}, {"weight", w}}), {4, 8});
  auto softmax = p.tensors({{"self", y}});
  softmax["dim"].v = int64_t{-1};
  const ValueId z = p.call("aten.softmax.int", softmax, {4, 8});
  const Task task = p.finish({z});
  const StepText text(task);
  EXPECT_EQ(text.line(0), "t0 = linear(x, fc.weight)");
  EXPECT_EQ(text.line(1), "t1 = softmax(t0, dim=-1)");
  EXPECT_EQ(shape_text(task.forward.values[z]), "fp32 4×8");
}

}  // namespace
}  // namespace kw
