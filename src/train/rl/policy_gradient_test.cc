#include "train/rl/policy_gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "formats/base/error.h"
#include "model/sampling.h"
#include "train/run/test_run.h"
#include "train/step/adamw.h"

namespace kw::train {
namespace {

constexpr int64_t kWords = 12;

// Log-probabilities of the answer's tokens, each from its own softmax of a pass over this text.
std::vector<at::Tensor> log_p_alone(const Transformer& model, const Example& text,
                                    double temperature) {
  const std::vector<int64_t> ids(text.tokens.begin(), text.tokens.end());
  const at::Tensor logits =
      model.logits(model.hidden(at::tensor(ids, at::kLong).unsqueeze(0)))[0] / temperature;
  std::vector<at::Tensor> out;
  for (size_t k = text.answer; k < ids.size(); ++k) {
    const at::Tensor row = logits[static_cast<int64_t>(k) - 1];
    out.push_back(row[ids[k]] - row.logsumexp(0));
  }
  return out;
}

std::vector<SampledGroup> some_groups(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<SampledGroup> out(3);
  for (SampledGroup& group : out) {
    group.resize(2 + random() % 3);
    for (Sampled& sampled : group) {
      sampled.text.tokens.resize(4 + random() % 12);
      for (TokenId& token : sampled.text.tokens) token = static_cast<TokenId>(random() % kWords);
      sampled.text.answer = 1 + random() % 3;
      sampled.log_p.assign(sampled.text.learned(), -1.5F);
      sampled.is_plan.assign(sampled.text.learned(), false);
    }
  }
  return out;
}

// The objective sees the log-probabilities of each text alone, and the step is down the gradient of
// the sum of its weights times them.
TEST(Update, FollowsTheObjectivesWeights) {
  const double temperature = 0.7;
  const auto groups = some_groups(2);
  const auto weight = [](size_t group, size_t answer, size_t token) {
    return std::sin(static_cast<double>(1 + group + 3 * answer + 7 * token));
  };
  const Transformer alone = tiny_model(kWords);
  for (const auto& [name, parameter] : alone.parameters()) parameter.set_requires_grad(true);
  at::Tensor sum = at::zeros({});
  std::vector<std::vector<std::vector<double>>> expected(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t a = 0; a < groups[g].size(); ++a) {
      const auto log_p = log_p_alone(alone, groups[g][a].text, temperature);
      auto& own = expected[g].emplace_back();
      for (size_t k = 0; k < log_p.size(); ++k) {
        own.push_back(log_p[k].item<double>());
        sum = sum + log_p[k] * weight(g, a, k);
      }
    }
  }
  sum.backward();
  double norm = 0, gone = 0, tokens = 0;
  for (const auto& of_group : expected) {
    for (const auto& answer : of_group) {
      for (const double log_p : answer) gone += -1.5 - log_p;  // all were sampled at -1.5
      tokens += static_cast<double>(answer.size());
    }
  }
  for (const auto& [name, parameter] : alone.parameters()) {
    norm += parameter.grad().square().sum().item<double>();
  }
  const Transformer model = tiny_model(kWords);
  AdamW adam(model.parameters(), {.epsilon = 1e3, .decay = 0, .clip = 0});  // steps like gradients
  const auto objective = [&](const std::vector<Group>& seen) {
    ObjectiveResult result;
    result.loss = 5;
    for (size_t g = 0; g < seen.size(); ++g) {
      auto& of_group = result.weights.emplace_back();
      for (size_t a = 0; a < seen[g].size(); ++a) {
        auto& of_answer = of_group.emplace_back();
        EXPECT_EQ(seen[g][a].old_log_p, std::vector<double>(expected[g][a].size(), -1.5));
        EXPECT_EQ(seen[g][a].log_p.size(), expected[g][a].size());
        for (size_t k = 0; k < seen[g][a].log_p.size(); ++k) {
          EXPECT_NEAR(seen[g][a].log_p[k], expected[g][a][k], 1e-4);
          EXPECT_NEAR(seen[g][a].reference_log_p[k], expected[g][a][k], 1e-4);
          of_answer.push_back(weight(g, a, k));
        }
      }
    }
    return result;
  };
  const Transformer reference = tiny_model(kWords);
  const UpdateReport report = update(model, &reference, adam, groups, objective, 1.0,
                                     {.row = 33, .rows_at_once = 2, .temperature = temperature});
  EXPECT_EQ(report.loss, 5);
  EXPECT_NEAR(report.drift, gone / tokens, 1e-4);
  EXPECT_NEAR(report.norm, std::sqrt(norm), 1e-3 * std::sqrt(norm));
  for (const auto& [name, parameter] : model.parameters()) {  // gradient / epsilon, times the rate
    const at::Tensor moved = (reference.parameters().at(name) - parameter.detach()) * 1e3;
    const at::Tensor wanted = alone.parameters().at(name).grad();
    EXPECT_LT((moved - wanted).abs().max().item<double>(),
              0.02 * wanted.abs().max().item<double>() + 1e-3)
        << name;
  }
}

// A game of one token: token 7 is right behind prompt 3. Every objective learns it.
double right_share(const Transformer& model) {
  const at::NoGradGuard guard;
  const at::Tensor logits = model.logits(model.hidden(at::full({1, 1}, 3, at::kLong)))[0][0];
  return logits.softmax(0)[7].item<double>();
}

void plays(const Objective& objective, bool needs_reference) {
  const Transformer model = tiny_model(kWords), reference = tiny_model(kWords);
  AdamW adam(model.parameters(), {.decay = 0});
  const double before = right_share(model);
  for (uint64_t step = 0; step < 60; ++step) {
    const at::Tensor log_p = [&] {
      const at::NoGradGuard guard;
      return at::log_softmax(model.logits(model.hidden(at::full({1, 1}, 3, at::kLong)))[0][0], 0);
    }();
    std::vector<SampledGroup> groups(1);
    for (uint64_t k = 0; k < 16; ++k) {
      const at::Tensor one = at::ones({1});
      const Drawn drawn =
          draw_tokens(log_p.unsqueeze(0), one, one, at::full({1}, uniform_number(step, k)), false);
      const auto token = static_cast<TokenId>(drawn.tokens.item<int64_t>());
      Judged judged{.valid = true, .correct = token == 7, .speedup = token == 7 ? 1.5 : 0};
      groups[0].push_back({Example{{3, token}, 1}, {drawn.log_p.item<float>()}, {false}, judged});
    }
    update(model, needs_reference ? &reference : nullptr, adam, groups, objective, 3e-3, {});
  }
  EXPECT_LT(before, 0.2);
  EXPECT_GT(right_share(model), 0.8);
}

std::vector<std::vector<double>> rewards_of(const std::vector<Group>& groups) {
  std::vector<std::vector<double>> out;
  for (const Group& group : groups) {
    auto& own = out.emplace_back();
    for (const Rollout& rollout : group) own.push_back(reward_correct(rollout.judged));
  }
  return out;
}

TEST(Update, EveryObjectiveLearnsAGame) {
  for (const Advantage kind :
       {Advantage::kStandardised, Advantage::kCentred, Advantage::kLeaveOneOut}) {
    plays([&](const auto& g) { return clipped_objective(g, rewards_of(g), {.advantage = kind}); },
          false);
  }
  plays([](const auto& g) { return clipped_objective(g, rewards_of(g), {.kl_weight = 0.01}); },
        true);
  plays(
      [](const auto& g) {
        return hierarchical_objective(g, rewards_of(g), rewards_of(g), 0.1,
                                      {.advantage = Advantage::kCentred});
      },
      false);
  plays([](const auto& g) { return drpo_objective(g, {.learn_from_all_right = true}); }, false);
}

TEST(Update, WhatTeachesNothingMovesNothing) {
  const Transformer model = tiny_model(kWords);
  AdamW adam(model.parameters(), {});
  const auto one = [](const std::vector<Group>& groups) {
    return clipped_objective(groups, rewards_of(groups), {});
  };
  auto groups = some_groups(1);
  groups[0][0].judged = {.valid = true, .correct = true, .speedup = 2};
  EXPECT_GT(update(model, nullptr, adam, groups, one, 1e-3, {}).norm, 0);
  const at::Tensor before = model.parameters().at("model.norm.weight").detach().clone();
  groups[0][0].judged = {};  // all wrong
  EXPECT_EQ(update(model, nullptr, adam, groups, one, 1e-3, {}).norm, 0);
  EXPECT_TRUE(at::equal(before, model.parameters().at("model.norm.weight")));
}

TEST(Update, RefusesAnswersWithoutTheirLogProbabilities) {
  const Transformer model = tiny_model(kWords);
  AdamW adam(model.parameters(), {});
  auto groups = some_groups(1);
  groups[1][0].log_p.pop_back();
  EXPECT_THROW(
      update(model, nullptr, adam, groups, [](const auto&) { return ObjectiveResult{}; }, 1e-3, {}),
      InputError);
}

}  // namespace
}  // namespace kw::train
