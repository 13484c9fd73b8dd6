#include "train/step/objectives.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace kw::train {
namespace {

using TokenTest = std::function<bool(const Rollout&, size_t)>;

ObjectiveResult zeros(const std::vector<Group>& groups) {
  ObjectiveResult out;
  for (const Group& group : groups) {
    auto& weights = out.weights.emplace_back();
    for (const Rollout& rollout : group) weights.emplace_back(rollout.log_p.size(), 0.0);
  }
  return out;
}

size_t tokens(const std::vector<Group>& groups) {
  size_t out = 0;
  for (const Group& group : groups) {
    for (const Rollout& rollout : group) out += rollout.log_p.size();
  }
  return std::max<size_t>(out, 1);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<size_t>(values.size(), 1));
}

// Adds `share` times the clipped objective over the chosen tokens.
void add_clipped(const std::vector<Group>& groups, const std::vector<std::vector<double>>& rewards,
                 const ClippedOptions& options, double share, const TokenTest& meant,
                 ObjectiveResult& out) {
  const double all = static_cast<double>(tokens(groups));
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<double> gains = advantages(rewards[g], options.advantage);
    for (size_t i = 0; i < groups[g].size(); ++i) {
      const Rollout& rollout = groups[g][i];
      size_t count = 0;
      for (size_t t = 0; t < rollout.log_p.size(); ++t) count += meant(rollout, t);
      const double scale = share / static_cast<double>(groups.size() * groups[g].size() *
                                                       std::max<size_t>(count, 1));
      for (size_t t = 0; t < rollout.log_p.size(); ++t) {
        if (!meant(rollout, t)) continue;
        const double ratio = std::exp(rollout.log_p[t] - rollout.old_log_p[t]);
        const double cut = std::clamp(ratio, 1 - options.clip_low, 1 + options.clip_high);
        const bool is_cut = cut * gains[i] < ratio * gains[i];
        out.loss -= scale * (is_cut ? cut : ratio) * gains[i];
        if (!is_cut) out.weights[g][i][t] -= scale * ratio * gains[i];
        out.clipped += is_cut / all;
        if (options.kl_weight == 0) continue;
        const double off = rollout.reference_log_p[t] - rollout.log_p[t];
        const double kl = std::exp(off) - off - 1;
        out.kl += kl / all;
        out.loss += scale * options.kl_weight * kl;
        out.weights[g][i][t] += scale * options.kl_weight * (1 - std::exp(off));
      }
    }
  }
}

// Returns exp(values - largest), divided by their sum.
std::vector<double> softmax(const std::vector<double>& values) {
  const double largest = *std::max_element(values.begin(), values.end());
  std::vector<double> out;
  double sum = 0;
  for (double value : values) sum += out.emplace_back(std::exp(value - largest));
  for (double& value : out) value /= sum;
  return out;
}

}  // namespace

double reward_correct(const Judged& judged) { return judged.valid && judged.correct ? 1 : 0; }

double reward_speed(const Judged& judged, double most) {
  return judged.valid && judged.correct ? std::min(judged.speedup, most) : 0;
}

double reward_log_speed(const Judged& judged) {
  if (!judged.valid || !judged.correct || judged.speedup <= 0) return 0;
  return 1 + std::log(judged.speedup);
}

std::vector<double> advantages(const std::vector<double>& rewards, Advantage kind) {
  std::vector<double> out = rewards;
  const double middle = mean(rewards);
  for (double& value : out) value -= middle;
  const auto count = static_cast<double>(rewards.size());
  if (kind == Advantage::kLeaveOneOut) {  // r - (sum - r) / (n - 1)
    for (double& value : out) value = rewards.size() > 1 ? value * count / (count - 1) : 0;
  }
  if (kind != Advantage::kStandardised) return out;
  double square = 0;
  for (double value : out) square += value * value / count;
  for (double& value : out) value = square > 1e-12 ? value / std::sqrt(square) : 0;
  return out;
}

ObjectiveResult clipped_objective(const std::vector<Group>& groups,
                                  const std::vector<std::vector<double>>& rewards,
                                  const ClippedOptions& options) {
  ObjectiveResult out = zeros(groups);
  add_clipped(
      groups, rewards, options, 1, [](const Rollout&, size_t) { return true; }, out);
  return out;
}

ObjectiveResult hierarchical_objective(const std::vector<Group>& groups,
                                       const std::vector<std::vector<double>>& plan_rewards,
                                       const std::vector<std::vector<double>>& code_rewards,
                                       double plan_weight, const ClippedOptions& options) {
  ObjectiveResult out = zeros(groups);
  const auto plan = [](const Rollout& r, size_t t) { return r.is_plan[t]; };
  add_clipped(groups, plan_rewards, options, plan_weight, plan, out);
  add_clipped(groups, code_rewards, options, 1, std::not_fn(plan), out);
  return out;
}

ObjectiveResult drpo_objective(const std::vector<Group>& groups, const DrpoOptions& options) {
  ObjectiveResult out = zeros(groups);
  const double all = static_cast<double>(tokens(groups));
  const double share = 1 / static_cast<double>(std::max<size_t>(groups.size(), 1));
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<size_t> right, others;
    std::vector<double> gains, scores;
    for (size_t i = 0; i < groups[g].size(); ++i) {
      const Rollout& rollout = groups[g][i];
      scores.push_back(mean(rollout.log_p));
      const bool is_right = reward_correct(rollout.judged) > 0;
      (is_right ? right : others).push_back(i);
      if (is_right)
        gains.push_back(std::log(std::max(rollout.judged.speedup, 1e-9)) / options.sharpness);
    }
    const auto add = [&](size_t i, double by_score) {
      auto& weights = out.weights[g][i];
      for (double& weight : weights)
        weight += share * by_score / static_cast<double>(weights.size());
    };
    if (right.empty() || (others.empty() && !options.learn_from_all_right)) continue;
    const std::vector<double> omega = softmax(gains);
    for (size_t k = 0; k < right.size(); ++k) {
      out.loss -= share * omega[k] * scores[right[k]];
      add(right[k], -omega[k]);
    }
    if (others.empty()) continue;
    std::vector<double> tempered;
    for (size_t i : others) tempered.push_back(scores[i] / options.temperature);
    const double largest = *std::max_element(tempered.begin(), tempered.end());
    double sum = 0;
    for (double value : tempered) sum += std::exp(value - largest);
    out.loss += share * options.temperature *
                (largest + std::log(sum / static_cast<double>(others.size())));
    const std::vector<double> parts = softmax(tempered);
    for (size_t k = 0; k < others.size(); ++k) add(others[k], parts[k]);
  }
  for (const Group& group : groups) {
    for (const Rollout& r : group) {
      for (size_t t = 0; t < r.log_p.size(); ++t) out.kl += (r.old_log_p[t] - r.log_p[t]) / all;
    }
  }
  const double beyond = std::max(out.kl - options.allowed_kl, 0.0);
  out.loss += options.penalty / 2 * beyond * beyond;
  for (auto& group : out.weights) {
    for (auto& rollout : group) {
      for (double& weight : rollout) weight -= options.penalty * beyond / all;
    }
  }
  return out;
}

}  // namespace kw::train
