// The objectives of reinforcement learning by their names in recipes, with their rewards. Formulas
// are in objectives.h. Torch-free, pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/step/objectives.h"

namespace kw::train {

struct RlObjectiveOptions {
  std::string name = "grpo";       // one of objective_names()
  std::string advantage = "auto";  // standardised, centred; auto: the objective's own
  double clip_low = 0.2, clip_high = 0.2;
  double kl_weight = 0;      // of the KL to a frozen reference
  double plan_weight = 0.1;  // of TritonRL's plans
  double most_speedup = 2;   // the largest speedup that TritonRL rewards
  DrpoOptions drpo;
};

// Returns the names of the objectives and their rewards:
// - grpo and rloo: reward_correct
// - grpo_speed: reward_log_speed
// - hierarchical: reward_speed for plans, reward_correct for code
// - drpo: log speedups of right answers, as in objectives.h
// - rejection: none; supervised fine-tuning on the batch's right answers, mean over their tokens
const std::vector<std::string>& objective_names();

// Returns whether an objective needs two updates of a batch, as nothing limits its first one.
bool needs_two_updates(const std::string& name);

// Returns the reward of an answer's code, for people and logs.
double reward_of(const Judged& judged, const RlObjectiveOptions& options);

// Returns the objective. Throws InputError for options that contradict each other.
std::function<ObjectiveResult(const std::vector<Group>&)> make_objective(
    const RlObjectiveOptions& options);

}  // namespace kw::train
