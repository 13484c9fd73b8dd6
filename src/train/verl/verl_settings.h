// The translation of each setting of reinforcement learning for verl
// (https://github.com/volcengine/verl), in one table. Keys are those of the release kVerlVersion.
// Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/rl/rl_config.h"

namespace kw::train {

inline constexpr char kVerlVersion[] = "0.9.1";

enum class VerlFate {
  kConfig,  // a key of verl's configuration
  kTasks,   // says which tasks are drawn
  kReward,  // a flag of the verifier that rewards are from
  kNoPlace  // verl has no place for it
};

struct VerlRow {
  const char* key;  // a recipe's key
  VerlFate fate;
  const char* verl;  // verl's key; for other fates, where the setting goes or why it goes nowhere
  Json (*value)(const RlConfig&) = nullptr;  // the value of verl's key
  // Returns whether verl learns something else without a setting that has no place; null: never.
  bool (*differs)(const RlConfig&) = nullptr;
};
// Returns the table. A setting has one or more rows (a test checks this).
const std::vector<VerlRow>& verl_rows();

struct VerlValue {
  Json value;
  std::vector<std::string> keys;  // the recipe's keys that it comes from
  std::string why;                // why it is set, if it comes from no key of the recipe
};
// Returns verl's configuration by key: the recipe's settings, and fixed values that make verl
// compute what objectives.h defines.
std::map<std::string, VerlValue> verl_config(const RlConfig& config);

// Throws InputError for an objective that verl lacks; the message names those that it has.
void check_verl_has(const std::string& objective);

}  // namespace kw::train
