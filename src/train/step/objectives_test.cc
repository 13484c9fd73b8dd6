// Hand-computed cases, edge cases, and derivatives against differences.
#include "train/step/objectives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace kw::train {
namespace {

Rollout rollout(std::mt19937& random, bool right, double speedup, int tokens) {
  std::uniform_real_distribution<double> draw(-2, -0.1), near(-0.4, 0.4);
  Rollout out;
  out.judged = {true, right, speedup};
  for (int t = 0; t < tokens; ++t) {
    out.log_p.push_back(draw(random));
    out.old_log_p.push_back(out.log_p.back() + near(random));
    out.reference_log_p.push_back(out.log_p.back() + near(random));
    out.is_plan.push_back(t < tokens / 3);
  }
  return out;
}

std::vector<Group> some_groups(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Group> out(4);
  for (size_t g = 0; g < out.size(); ++g) {
    for (int i = 0; i < 4; ++i) {  // mixed, mixed, all right, none right
      const bool right = g == 2 || (g < 2 && i % 2 == 0);
      out[g].push_back(rollout(random, right, right ? 0.5 + i : 0, 3 + 5 * i));
    }
  }
  return out;
}

std::vector<std::vector<double>> rewards(const std::vector<Group>& groups,
                                         const std::function<double(const Judged&)>& reward) {
  std::vector<std::vector<double>> out;
  for (const Group& group : groups) {
    auto& row = out.emplace_back();
    for (const Rollout& each : group) row.push_back(reward(each.judged));
  }
  return out;
}

using Objective = std::function<ObjectiveResult(const std::vector<Group>&)>;

void check_derivatives(const Objective& objective) {
  std::vector<Group> groups = some_groups(1);
  const ObjectiveResult found = objective(groups);
  constexpr double kStep = 1e-6;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t i = 0; i < groups[g].size(); ++i) {
      for (size_t t = 0; t < groups[g][i].log_p.size(); ++t) {
        double& at = groups[g][i].log_p[t];
        const double kept = at;
        at = kept + kStep;
        const double above = objective(groups).loss;
        at = kept - kStep;
        const double below = objective(groups).loss;
        at = kept;
        EXPECT_NEAR(found.weights[g][i][t], (above - below) / (2 * kStep), 1e-6);
      }
    }
  }
}

TEST(Objectives, WeightsAreDerivatives) {
  for (const Advantage kind :
       {Advantage::kStandardised, Advantage::kCentred, Advantage::kLeaveOneOut}) {
    check_derivatives([&](const std::vector<Group>& groups) {
      return clipped_objective(groups, rewards(groups, reward_correct),
                               {.advantage = kind, .kl_weight = 0.3});
    });
  }
  check_derivatives([](const std::vector<Group>& groups) {
    const auto speed = rewards(groups, [](const Judged& j) { return reward_speed(j); });
    return hierarchical_objective(groups, speed, rewards(groups, reward_correct), 0.1,
                                  {.advantage = Advantage::kCentred});
  });
  for (const bool all_right : {false, true}) {
    check_derivatives([&](const std::vector<Group>& groups) {
      return drpo_objective(groups, {.learn_from_all_right = all_right});
    });
  }
}

// One plan and one code token each. "r_plan = 1.5, r_code = 1" against 0: centred 0.75 and 0.5.
TEST(Objectives, PlanAndCodeHaveRewardsOfTheirOwn) {
  Rollout right, wrong;
  for (Rollout* r : {&right, &wrong}) {
    r->log_p = r->old_log_p = {-1, -1};
    r->is_plan = {true, false};
  }
  const ObjectiveResult found = hierarchical_objective({{right, wrong}}, {{1.5, 0}}, {{1, 0}}, 0.1,
                                                       {.advantage = Advantage::kCentred});
  EXPECT_NEAR(found.weights[0][0][0], -0.1 * 0.75 / 2, 1e-12);
  EXPECT_NEAR(found.weights[0][0][1], -0.5 / 2, 1e-12);
  EXPECT_NEAR(found.weights[0][1][0], 0.1 * 0.75 / 2, 1e-12);
}

TEST(Objectives, EqualRewardsTeachNothing) {
  const std::vector<Group> groups = some_groups(2);
  for (const Advantage kind :
       {Advantage::kStandardised, Advantage::kCentred, Advantage::kLeaveOneOut}) {
    const auto found =
        clipped_objective(groups, rewards(groups, reward_correct), {.advantage = kind});
    for (size_t g : {2, 3}) {
      for (const auto& weights : found.weights[g]) {
        for (double weight : weights) EXPECT_EQ(weight, 0);
      }
    }
  }
}

TEST(Objectives, AdvantagesByHand) {
  EXPECT_EQ(advantages({1, 0, 0, 1}, Advantage::kStandardised),
            (std::vector<double>{1, -1, -1, 1}));
  EXPECT_EQ(advantages({3, 0, 0}, Advantage::kLeaveOneOut), (std::vector<double>{3, -1.5, -1.5}));
  EXPECT_EQ(advantages({2}, Advantage::kLeaveOneOut), std::vector<double>{0});
  EXPECT_EQ(advantages({2, 2}, Advantage::kStandardised), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace kw::train
