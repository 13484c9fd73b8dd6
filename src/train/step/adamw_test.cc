// Against the update written out in doubles.
#include "train/step/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "formats/base/error.h"

namespace kw::train {
namespace {

using Parameters = std::map<std::string, at::Tensor>;

Parameters some_parameters(at::ScalarType type = at::kFloat) {
  at::manual_seed(4);
  return {{"matrix", at::randn({5, 3}, type)}, {"norm", at::ones({4}, type)}};
}

void give_gradients(Parameters& parameters, uint64_t seed) {
  for (auto& [name, parameter] : parameters) {
    at::Generator generator = at::detail::createCPUGenerator(seed + name.size());
    parameter.mutable_grad() =
        at::empty(parameter.sizes(), at::kFloat).normal_(0, 1, generator).to(parameter.dtype());
  }
}

struct ByHand {
  std::vector<double> p, m, v;
};

TEST(AdamW, UpdatesByItsDefinition) {
  Parameters parameters = some_parameters();
  const AdamOptions options{.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-6, .decay = 0.3, .clip = 2};
  std::map<std::string, ByHand> expected;
  for (const auto& [name, p] : parameters) {
    for (int64_t i = 0; i < p.numel(); ++i) {
      expected[name].p.push_back(p.view({-1})[i].item<double>());
    }
    expected[name].m.resize(p.numel()), expected[name].v.resize(p.numel());
  }
  AdamW adam(parameters, options);
  for (int step = 1; step <= 5; ++step) {
    const double rate = 0.01 * step;
    std::map<std::string, std::vector<double>> sums;
    for (uint64_t part = 0; part < 2; ++part) {  // two parts, of weights 1 and 0.5
      const double scale = part == 0 ? 1 : 0.5;
      give_gradients(parameters, 10 * step + part);
      for (const auto& [name, p] : parameters) {
        sums[name].resize(p.numel());
        for (int64_t i = 0; i < p.numel(); ++i) {
          sums[name][i] += scale * p.grad().view({-1})[i].item<double>();
        }
      }
      adam.accumulate(parameters, scale);
    }
    double norm = 0;
    for (const auto& [name, sum] : sums) {
      for (const double g : sum) norm += g * g;
    }
    norm = std::sqrt(norm);
    EXPECT_NEAR(adam.step(rate), norm, 1e-5 * norm);
    const double cut = norm > options.clip ? options.clip / norm : 1;
    for (auto& [name, hand] : expected) {
      const double decay = name == "matrix" ? options.decay : 0;
      for (size_t i = 0; i < hand.p.size(); ++i) {
        const double g = cut * sums[name][i];
        hand.m[i] = options.beta1 * hand.m[i] + (1 - options.beta1) * g;
        hand.v[i] = options.beta2 * hand.v[i] + (1 - options.beta2) * g * g;
        const double m = hand.m[i] / (1 - std::pow(options.beta1, step));
        const double v = hand.v[i] / (1 - std::pow(options.beta2, step));
        hand.p[i] -= rate * decay * hand.p[i] + rate * m / (std::sqrt(v) + options.epsilon);
        EXPECT_NEAR(parameters.at(name).view({-1})[static_cast<int64_t>(i)].item<double>(),
                    hand.p[i], 1e-5);
      }
    }
  }
}

// Steps smaller than a half type's can tell apart add up all the same.
TEST(AdamW, SmallStepsAddUpInHalfTypes) {
  Parameters parameters = {{"matrix", at::ones({1, 1}, at::kBFloat16)}};
  AdamW adam(parameters, {.decay = 0, .clip = 0});
  for (int step = 0; step < 100; ++step) {
    parameters.at("matrix").mutable_grad() = at::ones({1, 1}, at::kBFloat16);
    adam.accumulate(parameters);
    adam.step(1e-3);  // of 1, where bfloat16 has steps of 0.004 to 0.008
  }
  EXPECT_NEAR(parameters.at("matrix").item<double>(), 0.9, 0.005);
}

TEST(AdamW, WhatIsNoNumberChangesNothing) {
  Parameters parameters = some_parameters();
  AdamW adam(parameters, {});
  const at::Tensor before = parameters.at("matrix").detach().clone();
  give_gradients(parameters, 1);
  parameters.at("norm").mutable_grad()[2] = std::nan("");
  adam.accumulate(parameters);
  EXPECT_FALSE(std::isfinite(adam.step(0.1)));
  EXPECT_TRUE(at::equal(before, parameters.at("matrix")));
  EXPECT_EQ(adam.steps(), 0);
  give_gradients(parameters, 1);
  adam.accumulate(parameters);
  EXPECT_TRUE(std::isfinite(adam.step(0.1)));
  EXPECT_FALSE(at::equal(before, parameters.at("matrix")));
}

TEST(AdamW, GoesOnExactlyFromAFile) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "kw-adam.safetensors";
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    Parameters through = some_parameters(type), stopped = some_parameters(type);
    AdamW adam(through, {});
    {
      AdamW first(stopped, {});
      for (uint64_t step = 0; step < 3; ++step) {
        for (auto* each : {&through, &stopped}) give_gradients(*each, step);
        adam.accumulate(through), first.accumulate(stopped);
        adam.step(0.01), first.step(0.01);
      }
      first.save(path);
    }
    Parameters again = some_parameters(type);
    AdamW second(again, {});
    second.load(path);
    EXPECT_EQ(second.steps(), 3);
    for (uint64_t step = 3; step < 6; ++step) {
      for (auto* each : {&through, &again}) give_gradients(*each, step);
      adam.accumulate(through), second.accumulate(again);
      adam.step(0.01), second.step(0.01);
    }
    for (const auto& [name, p] : through) EXPECT_TRUE(at::equal(p, again.at(name)));
  }
  Parameters other = {{"matrix", at::ones({2, 2})}};
  AdamW wrong(other, {});
  EXPECT_THROW(wrong.load(path), InputError);
  std::filesystem::remove(path);
}

TEST(Schedule, RisesAndFalls) {
  const Schedule schedule{.rate = 1, .last = 0.2, .warmup = 4, .steps = 14};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(3), 1);
  EXPECT_DOUBLE_EQ(schedule.at(4), 1);
  EXPECT_NEAR(schedule.at(9), 0.6, 1e-12);  // half way down
  EXPECT_DOUBLE_EQ(schedule.at(14), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 0.2);
  for (int64_t step = 4; step < 14; ++step) EXPECT_GT(schedule.at(step), schedule.at(step + 1));
}

}  // namespace
}  // namespace kw::train
