// The configuration of a run of reinforcement learning.
#pragma once

#include "train/rl/curriculum.h"
#include "train/rl/rl_objective.h"
#include "train/run/run_config.h"

namespace kw::train {

struct RlConfig : RunConfig {
  RlConfig() {
    kind = "rl";
    log_low = {24}, log_high = {28};  // small twins of the programs that it learns for
  }

  int64_t log_elements = 26;  // log2 of the elements of a task's largest tensor
  int64_t tasks = 0;          // programs that are repeated; 0: always new ones
  bool hygiene = true;        // whether tasks are examined
  int64_t longest_prompt = 1024;

  RlObjectiveOptions objective;
  int64_t steps = 200, prompts = 32, prompts_per_update = 0, epochs = 1;
  int64_t answers = 8, max_tokens = 2048, rows = 256;
  double temperature = 1;
  int64_t row = 4096, rows_at_once = 4;
  double rate = 1e-6, last_share = 1, decay = 0, clip_norm = 1, beta2 = 0.95;
  int64_t warmup = 10, checkpoint_every = 10;
  bool overlap = true;

  std::string backend = "auto";
  int64_t judge_jobs = 0, executors = 1, judge_gpu = -1, trials = 0;
  bool time = true;
  double build_seconds = 20, trial_seconds = 10, sanitized_share = 0.02;
  std::string opinion_url, opinion_model, opinion_key_env = "OPENAI_API_KEY";
  int64_t opinion_concurrency = 8;

  bool one_by_one = true;
  double earlier_share = 0.25, promote_at = 0.5;
  int64_t validation = 200, evaluate_every = 20, patience = 5;

  int64_t updates_per_step() const;
};
void describe(Settings& settings, RlConfig& config);
// Throws InputError for settings that contradict each other.
void check(const RlConfig& config);
// Returns whether the model is held to the one that the run starts from.
inline bool has_reference(const RlConfig& config) { return config.objective.kl_weight > 0; }
// Returns how the tasks of a split are drawn. Their tensors are bounded too: a program that only
// moves elements counts no FLOPs, and would be as large as memory allows.
ProgramOptions task_programs(const RlConfig& config, Split split);
CurriculumOptions curriculum_options(const RlConfig& config);

}  // namespace kw::train
