// Rows for verl: a task for a model, and how its answers are rewarded.
#pragma once

#include <string>

#include "formats/json.h"
#include "policy/chat/prompt.h"

namespace kw {

// Returns a row with data_source, prompt, ability, reward_model and extra_info (verl 0.9.1, docs
// "Prepare Data for Post-Training"). `about` is extra_info; its "model" is the model file, which
// rewards need (train/verl/verl_reward.py).
Json verl_row(const Prompt& prompt, const std::string& level, const std::string& id, Json about);

}  // namespace kw
