// What becomes of each setting of reinforcement learning in verl
// (https://github.com/volcengine/verl): one table, with verl's keys as its release has them that
// kVerlVersion names. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/rl/rl_config.h"

namespace kw {

inline constexpr char kVerlVersion[] = "0.9.1";

enum class VerlFate {
  kConfig,  // a key of verl's configuration
  kTasks,   // says which tasks are drawn
  kReward,  // a flag of the verifier that rewards are from
  kNoPlace  // verl has no place for it
};

struct VerlRow {
  const char* key;  // of a recipe
  VerlFate fate;
  const char* verl;  // the key of verl; else where it goes, or why it goes nowhere
  Json (*value)(const RlConfig&) = nullptr;  // of verl's key
  // Of what has no place: whether verl then learns something else; null: it does not.
  bool (*differs)(const RlConfig&) = nullptr;
};
// A setting may have several rows; each has one at least (a test looks).
const std::vector<VerlRow>& verl_rows();

struct VerlValue {
  Json value;
  std::vector<std::string> keys;  // of the recipe
  std::string why;                // where it is none of the recipe's
};
// All that has a row, and what makes verl compute what objectives.h has. By verl's key.
std::map<std::string, VerlValue> verl_config(const RlConfig& config);

// InputError for an objective that verl lacks, with those that it has.
void check_verl_has(const std::string& objective);

}  // namespace kw
