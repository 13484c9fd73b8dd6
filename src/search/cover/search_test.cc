#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "program/rewrite/transform.h"
#include "search/cover/cover.h"
#include "search/cover/fragments.h"

namespace kw {
namespace {

std::vector<std::vector<int>> random_dag(std::mt19937& rng, int n) {
  std::vector<std::vector<int>> deps(n);
  for (int i = 1; i < n; ++i) {
    for (int d = 0; d < i; ++d) {
      if (rng() % 3 == 0) deps[i].push_back(d);
    }
  }
  return deps;
}

// Oracle: tries every way to contract disjoint options and checks the quotient for cycles.
double brute_force(const std::vector<std::vector<int>>& deps, const std::vector<double>& seconds,
                   const std::vector<CoverOption>& options) {
  const int n = static_cast<int>(deps.size());
  double best = 1e9;
  for (unsigned mask = 0; mask < 1u << options.size(); ++mask) {
    std::vector<int> group(n, -1);
    double total = 0;
    bool fine = true;
    int groups = 0;
    for (size_t o = 0; o < options.size(); ++o) {
      if (!(mask >> o & 1)) continue;
      for (int i : options[o].steps) {
        fine = fine && group[i] < 0;
        group[i] = groups;
      }
      ++groups;
      total += options[o].seconds;
    }
    for (int i = 0; i < n; ++i) {
      if (group[i] < 0) {
        group[i] = groups++;
        total += seconds[i];
      }
    }
    std::vector<std::set<int>> waits(groups);
    for (int i = 0; i < n; ++i) {
      for (int d : deps[i]) {
        if (group[d] != group[i]) waits[group[i]].insert(group[d]);
      }
    }
    std::set<int> done;
    for (bool moved = true; moved;) {
      moved = false;
      for (int g = 0; g < groups; ++g) {
        if (done.count(g)) continue;
        bool ready = true;
        for (int w : waits[g]) ready = ready && done.count(w);
        if (ready) moved = done.insert(g).second || moved;
      }
    }
    if (fine && static_cast<int>(done.size()) == groups) best = std::min(best, total);
  }
  return best;
}

TEST(Cover, EqualsBruteForce) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    const int n = 3 + rng() % 6;
    const auto deps = random_dag(rng, n);
    std::vector<double> seconds;
    for (int i = 0; i < n; ++i) seconds.push_back(1 + rng() % 9);
    std::vector<CoverOption> options;
    for (int o = 0; o < 7; ++o) {
      std::vector<int> steps;
      for (int i = 0; i < n; ++i) {
        if (rng() % 3 == 0) steps.push_back(i);
      }
      if (!steps.empty() && is_convex(deps, steps)) {
        options.push_back({steps, static_cast<double>(1 + rng() % 12)});
      }
    }
    const Cover cover = best_cover(deps, seconds, options);
    EXPECT_DOUBLE_EQ(cover.seconds, brute_force(deps, seconds, options));
    double total = cover.seconds;
    std::vector<bool> covered(n, false);
    for (int o : cover.options) {
      total -= options[o].seconds;
      for (int i : options[o].steps) covered[i] = true;
    }
    for (int i = 0; i < n; ++i) total -= covered[i] ? 0 : seconds[i];
    EXPECT_NEAR(total, 0, 1e-9);
  }
}

TEST(Cover, LongChainsStayExactWithinABeam) {
  const int n = 500;
  std::vector<std::vector<int>> deps(n);
  for (int i = 1; i < n; ++i) deps[i] = {i - 1};
  std::vector<CoverOption> options;
  for (int i = 0; i + 1 < n; i += 2) options.push_back({{i, i + 1}, 1});
  EXPECT_DOUBLE_EQ(best_cover(deps, std::vector<double>(n, 1.0), options).seconds, n / 2.0);
}

// Branches that have nothing to do with each other until their last steps meet: each is a chain,
// whose best cover a table over its steps finds.
TEST(Cover, WideProgramsStayExact) {
  constexpr int kBranches = 24, kLength = 16, kSteps = kBranches * kLength;
  std::mt19937 rng(2);
  std::vector<std::vector<int>> deps(kSteps + 1);
  std::vector<double> seconds;
  for (int i = 0; i < kSteps; ++i) {
    if (i % kLength > 0) deps[i].push_back(i - 1);
    if (i % kLength == kLength - 1) deps[kSteps].push_back(i);
    seconds.push_back(1 + rng() % 9);
  }
  seconds.push_back(1);
  std::vector<CoverOption> options;
  double expected = 1;
  for (int b = 0; b < kBranches; ++b) {
    std::vector<double> best(kLength + 1, 1e9);
    best[0] = 0;
    for (int first = 0; first < kLength; ++first) {
      double alone = 0;
      for (int last = first; last < kLength; ++last) {
        alone += seconds[b * kLength + last];
        CoverOption option{{}, last == first ? alone : alone * (1 + rng() % 9) / 8};
        for (int i = first; i <= last; ++i) option.steps.push_back(b * kLength + i);
        best[last + 1] = std::min(best[last + 1], best[first] + option.seconds);
        options.push_back(std::move(option));
      }
    }
    expected += best[kLength];
  }
  EXPECT_NEAR(best_cover(deps, seconds, options).seconds, expected, 1e-9);
}

// A random forward program of add steps (views mixed in) as a task.
Task random_task(std::mt19937& rng) {
  Task task;
  Program& p = task.forward;
  p.values.push_back({DType::kFloat32, {4, 8}, {8, 1}, 0, 0});
  p.inputs = {0};
  for (int i = 0; i < 8; ++i) {
    const int a = static_cast<int>(rng() % p.values.size());
    const int b = static_cast<int>(rng() % p.values.size());
    const int id = static_cast<int>(p.values.size());
    AtenCall call;
    if (rng() % 4 == 0) {
      call = {"aten.alias.default", {{"self", {ValueRef{a}}}}, {id}, {}};
    } else {
      call = {"aten.add.Tensor", {{"self", {ValueRef{a}}}, {"other", {ValueRef{b}}}}, {id}, {}};
    }
    Value value = p.values[0];
    value.storage = id;
    p.values.push_back(value);
    p.steps.push_back(call);
  }
  p.outputs = {static_cast<int>(p.values.size()) - 1};
  return task;
}

TEST(Fragments, AreConvexConnectedAndComplete) {
  std::mt19937 rng(2);
  for (int round = 0; round < 50; ++round) {
    const Task task = random_task(rng);
    const auto deps = step_dependencies(task.forward, {});
    const auto found = enumerate_fragments(task, {});
    const std::set<std::vector<int>> unique(found.begin(), found.end());
    EXPECT_EQ(unique.size(), found.size());
    for (const auto& fragment : found) EXPECT_TRUE(is_convex(deps, fragment));
    // Every single computing step is offered.
    for (int i = 0; i < static_cast<int>(task.forward.steps.size()); ++i) {
      const bool view = std::get<AtenCall>(task.forward.steps[i]).op == "aten.alias.default";
      EXPECT_EQ(unique.count({i}), view ? 0u : 1u);
    }
  }
}

// A view of the input, something computed of it, a view of that; and what reads them beside.
Task between_views(const std::vector<int>& read_beside, const std::vector<int>& outputs) {
  Task task;
  Program& p = task.forward;
  const auto value = [&] {
    p.values.push_back({DType::kFloat32, {4, 8}, {8, 1}, 0, static_cast<int>(p.values.size())});
    return static_cast<int>(p.values.size()) - 1;
  };
  p.inputs = {value()};
  for (const char* op : {"aten.alias.default", "aten.relu.default", "aten.alias.default"}) {
    const int read = static_cast<int>(p.values.size()) - 1;
    p.steps.push_back(AtenCall{op, {{"self", {ValueRef{read}}}}, {value()}, {}});
  }
  p.outputs = outputs;
  for (int read : read_beside) {
    p.steps.push_back(AtenCall{"aten.exp.default", {{"self", {ValueRef{read}}}}, {value()}, {}});
    p.outputs.push_back(static_cast<int>(p.values.size()) - 1);
  }
  return task;
}

TEST(Fragments, HaveTheViewsThatAreTheirsAlone) {
  const auto first = [](const Task& task) {
    for (const auto& f : enumerate_fragments(task, {.max_steps = 1, .with_views = true})) {
      if (std::ranges::binary_search(f, 1)) return f;  // with relu
    }
    return std::vector<int>{};
  };
  using Steps = std::vector<int>;
  EXPECT_EQ(first(between_views({}, {3})), (Steps{0, 1, 2}));
  EXPECT_EQ(first(between_views({3}, {})), (Steps{0, 1, 2}));  // whose last value is read
  EXPECT_EQ(first(between_views({1}, {3})), (Steps{1, 2}));    // the first view is
  EXPECT_EQ(first(between_views({2}, {3})), (Steps{0, 1}));    // relu itself
  EXPECT_EQ(first(between_views({}, {1, 3})), (Steps{1, 2}));
  EXPECT_EQ(first(between_views({}, {2, 3})), (Steps{0, 1}));
  EXPECT_EQ(enumerate_fragments(between_views({}, {3}), {}), (std::vector<Steps>{{1}}));
}

TEST(Fragments, WithViewsComputeTheSame) {
  std::mt19937 rng(4);
  for (int round = 0; round < 50; ++round) {
    const Task task = random_task(rng);
    const auto deps = step_dependencies(task.forward, {});
    const auto computing = [&](const std::vector<int>& fragment) {
      std::vector<int> out;
      for (int i : fragment) {
        if (std::get<AtenCall>(task.forward.steps[i]).op == "aten.add.Tensor") out.push_back(i);
      }
      return out;
    };
    std::set<std::vector<int>> plain, found;
    for (const auto& f : enumerate_fragments(task, {})) plain.insert(computing(f));
    for (const auto& f : enumerate_fragments(task, {.with_views = true})) {
      EXPECT_TRUE(is_convex(deps, f));
      found.insert(computing(f));
      // What flows out was computed inside: no view of what flows in.
      for (int i : f) {
        const auto& call = std::get<AtenCall>(task.forward.steps[i]);
        if (call.op != "aten.alias.default") continue;
        const int read = std::get<ValueRef>(call.args.at("self").v).id, made = call.results[0];
        bool is_fed = true, flows_out = task.forward.outputs[0] == made;
        for (int s = 0; s < static_cast<int>(task.forward.steps.size()); ++s) {
          const auto& other = std::get<AtenCall>(task.forward.steps[s]);
          const bool inside = std::ranges::binary_search(f, s);
          is_fed &= !inside || other.results[0] != read;
          for (const auto& [name, arg] : other.args) {
            flows_out |= !inside && std::get<ValueRef>(arg.v).id == made;
          }
        }
        EXPECT_FALSE(is_fed && flows_out) << i;
      }
    }
    EXPECT_EQ(found, plain);
  }
}

// batch_norm overwrites its running statistics and returns something else; add_ returns what it
// overwrites.
TEST(Fragments, HoldStepsWhoseResultIsNotWhatTheyOverwrite) {
  Task task;
  Program& p = task.forward;
  for (int i = 0; i < 4; ++i) p.values.push_back({DType::kFloat32, {4, 8}, {8, 1}, 0, i});
  p.inputs = {0, 1};
  p.values[3].storage = 1;
  p.steps = {
      AtenCall{"aten.batch_norm.default",
               {{"input", {ValueRef{0}}}, {"running_mean", {ValueRef{1}}}},
               {2},
               {1}},
      AtenCall{"aten.add_.Tensor", {{"self", {ValueRef{1}}}, {"other", {ValueRef{2}}}}, {3}, {1}}};
  p.outputs = {2, 3};
  EXPECT_EQ(enumerate_fragments(task, {}), (std::vector<std::vector<int>>{{0}}));
}

TEST(Fragments, TheLimitHolds) {
  std::mt19937 rng(3);
  const Task task = random_task(rng);
  EXPECT_LE(enumerate_fragments(task, {.max_steps = 12, .max_fragments = 5}).size(), 5u);
  for (const auto& f : enumerate_fragments(task, {.max_steps = 2})) {
    EXPECT_LE(f.size(), 8u);
  }
}

}  // namespace
}  // namespace kw
