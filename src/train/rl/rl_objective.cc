#include "train/rl/rl_objective.h"

#include <algorithm>

#include "formats/base/error.h"

namespace kw::train {
namespace {

using Reward = std::function<double(const Judged&)>;

std::vector<std::vector<double>> rewards_of(const std::vector<Group>& groups,
                                            const Reward& reward) {
  std::vector<std::vector<double>> out;
  for (const Group& group : groups) {
    auto& own = out.emplace_back();
    for (const Rollout& rollout : group) own.push_back(reward(rollout.judged));
  }
  return out;
}

ClippedOptions clipped_options(const RlObjectiveOptions& options) {
  ClippedOptions out;
  out.clip_low = options.clip_low;
  out.clip_high = options.clip_high;
  out.kl_weight = options.kl_weight;
  if (options.advantage == "centred" ||
      (options.advantage == "auto" && options.name == "hierarchical")) {
    out.advantage = Advantage::kCentred;
  }
  if (options.name == "rloo") out.advantage = Advantage::kLeaveOneOut;
  return out;
}

// Computes L = -mean of log p over the tokens of right answers.
ObjectiveResult rejection_objective(const std::vector<Group>& groups) {
  ObjectiveResult out;
  double all = 0;
  for (const Group& group : groups) {
    for (const Rollout& r : group) {
      if (reward_correct(r.judged) > 0) all += static_cast<double>(r.log_p.size());
    }
  }
  for (const Group& group : groups) {
    auto& weights = out.weights.emplace_back();
    for (const Rollout& r : group) {
      const bool right = reward_correct(r.judged) > 0;
      weights.emplace_back(r.log_p.size(), right ? -1 / all : 0);
      for (const double log_p : r.log_p) out.loss -= right ? log_p / all : 0;
    }
  }
  return out;
}

}  // namespace

const std::vector<std::string>& objective_names() {
  static const std::vector<std::string> names = {"grpo", "grpo_speed", "hierarchical",
                                                 "drpo", "rloo",       "rejection"};
  return names;
}

bool needs_two_updates(const std::string& name) { return name == "drpo"; }

double reward_of(const Judged& judged, const RlObjectiveOptions& options) {
  return options.name == "grpo_speed" || options.name == "drpo" ? reward_log_speed(judged)
                                                                : reward_correct(judged);
}

std::function<ObjectiveResult(const std::vector<Group>&)> make_objective(
    const RlObjectiveOptions& options) {
  if (options.advantage != "auto" &&
      (options.name == "drpo" || options.name == "rloo" || options.name == "rejection")) {
    throw InputError("rl.advantage is " + options.advantage + ", but " + options.name +
                     " has its own");
  }
  if (options.kl_weight > 0 && (options.name == "drpo" || options.name == "rejection")) {
    throw InputError("rl.kl_weight: " + options.name + " knows no reference model");
  }
  const ClippedOptions clipped = clipped_options(options);
  if (options.name == "drpo") {
    return [drpo = options.drpo](const auto& groups) { return drpo_objective(groups, drpo); };
  }
  if (options.name == "rejection") return rejection_objective;
  if (options.name == "hierarchical") {
    return [options, clipped](const std::vector<Group>& groups) {
      const Reward speed = [&](const Judged& j) { return reward_speed(j, options.most_speedup); };
      return hierarchical_objective(groups, rewards_of(groups, speed),
                                    rewards_of(groups, reward_correct), options.plan_weight,
                                    clipped);
    };
  }
  if (std::ranges::find(objective_names(), options.name) == objective_names().end()) {
    throw InputError("there is no objective " + options.name);
  }
  const Reward reward = options.name == "grpo_speed" ? reward_log_speed : reward_correct;
  return [reward, clipped](const std::vector<Group>& groups) {
    return clipped_objective(groups, rewards_of(groups, reward), clipped);
  };
}

}  // namespace kw::train
