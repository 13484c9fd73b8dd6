// The objectives of reinforcement learning by the names that recipes call them, with their rewards.
// Formulas stand at objectives.h. Torch-free, pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/step/objectives.h"

namespace kw {

struct RlObjectiveOptions {
  std::string name = "grpo";       // one of objective_names()
  std::string advantage = "auto";  // standardised, centred; auto: the objective's own
  double clip_low = 0.2, clip_high = 0.2;
  double kl_weight = 0;      // of a frozen reference
  double plan_weight = 0.1;  // of TritonRL's plans
  double most_speedup = 2;   // that TritonRL rewards
  DrpoOptions drpo;
};

// grpo: reward_correct. grpo_speed: reward_log_speed. hierarchical: reward_speed for plans,
// reward_correct for code. drpo. rloo: reward_correct. rejection: supervised fine-tuning on the
// right answers of the batch, the mean over their tokens.
const std::vector<std::string>& objective_names();

// Whether it learns from a batch only after a first update, as its first one is not held back.
bool needs_two_updates(const std::string& name);

// What the answer is worth, for people and logs: the code's reward.
double reward_of(const Judged& judged, const RlObjectiveOptions& options);

// InputError for what does not go together.
std::function<ObjectiveResult(const std::vector<Group>&)> make_objective(
    const RlObjectiveOptions& options);

}  // namespace kw
