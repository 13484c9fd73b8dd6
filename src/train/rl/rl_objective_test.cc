#include "train/rl/rl_objective.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/base/error.h"

namespace kw::train {
namespace {

Rollout rollout(bool valid, bool correct, double speedup, size_t tokens) {
  Rollout out;
  out.judged = {valid, correct, speedup};
  for (size_t t = 0; t < tokens; ++t) {
    out.log_p.push_back(-0.1 * static_cast<double>(t + 1));
    out.is_plan.push_back(t < tokens / 2);
  }
  out.old_log_p = out.reference_log_p = out.log_p;
  return out;
}

// Right and slow, right and fast, wrong.
std::vector<Group> a_group() {
  return {{rollout(true, true, 0.5, 4), rollout(true, true, 2, 4), rollout(true, false, 0, 4)}};
}

RlObjectiveOptions named(const std::string& name) {
  RlObjectiveOptions out;
  out.name = name;
  return out;
}

// Where an update goes: the sum of an answer's weights over some of its tokens, below 0 where they
// become likelier.
double push(const ObjectiveResult& result, size_t answer, size_t from, size_t to) {
  double out = 0;
  for (size_t t = from; t < to; ++t) out += result.weights[0][answer][t];
  return out;
}

TEST(RlObjective, TellsApartWhatItsRewardDoes) {
  for (const std::string name : {"grpo", "rloo", "rejection"}) {  // speed is nothing to them
    const auto result = make_objective(named(name))(a_group());
    EXPECT_LT(push(result, 0, 0, 4), 0) << name;
    EXPECT_NEAR(push(result, 0, 0, 4), push(result, 1, 0, 4), 1e-12) << name;
    EXPECT_GE(push(result, 2, 0, 4), 0) << name;
  }
  for (const std::string name : {"grpo_speed", "drpo"}) {
    const auto result = make_objective(named(name))(a_group());
    EXPECT_LT(push(result, 1, 0, 4), push(result, 0, 0, 4)) << name;
  }
  const auto result = make_objective(named("hierarchical"))(a_group());
  EXPECT_LT(push(result, 1, 0, 2), push(result, 0, 0, 2));           // plans: the faster
  EXPECT_NEAR(push(result, 1, 2, 4), push(result, 0, 2, 4), 1e-12);  // code: right is right
}

// Centred rewards 1, 1, 0 are 1/3, 1/3, -2/3; standardised ones are divided by sqrt(2)/3.
TEST(RlObjective, TakesTheAdvantageThatIsAskedFor) {
  auto options = named("grpo");
  const auto standardised = make_objective(options)(a_group());
  options.advantage = "centred";
  const auto centred = make_objective(options)(a_group());
  EXPECT_NEAR(push(centred, 0, 0, 4), -1.0 / 9, 1e-12);  // over three answers
  EXPECT_NEAR(push(standardised, 0, 0, 4), push(centred, 0, 0, 4) * 3 / std::sqrt(2), 1e-12);
  const auto others = make_objective(named("rloo"))(a_group());  // 1 - 1/2 of the others' mean
  EXPECT_NEAR(push(others, 0, 0, 4), -0.5 / 3, 1e-12);
}

TEST(RlObjective, RejectionIsTheMeanOverRightTokens) {
  const std::vector<Group> groups = {{rollout(true, true, 1, 3), rollout(false, false, 0, 5)},
                                     {rollout(true, true, 1, 1)},
                                     {rollout(true, false, 0, 2)}};
  const auto result = make_objective(named("rejection"))(groups);
  EXPECT_NEAR(result.loss, (0.1 + 0.2 + 0.3 + 0.1) / 4, 1e-12);
  EXPECT_EQ(result.weights[0][0], std::vector<double>(3, -0.25));
  EXPECT_EQ(result.weights[0][1], std::vector<double>(5, 0.0));
  EXPECT_EQ(result.weights[1][0], std::vector<double>(1, -0.25));
  const auto none = make_objective(named("rejection"))({groups[2]});
  EXPECT_EQ(none.loss, 0);
  EXPECT_EQ(none.weights[0][0], std::vector<double>(2, 0.0));
}

TEST(RlObjective, RefusesWhatDoesNotGoTogether) {
  EXPECT_THROW(make_objective(named("ppo")), InputError);
  auto options = named("drpo");
  options.kl_weight = 0.1;
  EXPECT_THROW(make_objective(options), InputError);
  options = named("rloo");
  options.advantage = "centred";
  EXPECT_THROW(make_objective(options), InputError);
}

}  // namespace
}  // namespace kw::train
