// What a step of reinforcement learning is made of: tasks, answers that were sampled, what they
// were judged to be, the groups that an objective learns from, and numbers for people. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/generator.h"
#include "train/data/rl_tasks.h"
#include "train/judge/judge.h"
#include "train/rl/policy_gradient.h"
#include "train/rl/rl_objective.h"

namespace kw {

struct SamplingOptions {
  int64_t answers = 8;  // to a prompt
  int64_t max_tokens = 1024;
  double temperature = 1;
};

struct RlBatch {
  int64_t step = 0;        // that it is for
  uint64_t place = 0;      // of the task source behind it
  RlTaskCounts looked_at;  // for its tasks
  std::vector<RlTask> tasks;
  size_t answers = 0;            // to each task
  std::vector<Generation> made;  // task by task
  JudgeReport report;            // likewise
};

// An answer's numbers hang on these alone.
uint64_t answer_seed(uint64_t run_seed, int64_t step, size_t prompt, size_t answer);
std::vector<GenerationRequest> requests_of(const std::vector<RlTask>& tasks,
                                           const SamplingOptions& options, uint64_t run_seed,
                                           int64_t step);
std::vector<AnswerToJudge> answers_of(const RlBatch& batch);

// Answers that were judged, by task; a task with none is left out.
std::vector<SampledGroup> groups_of(const RlBatch& batch, const AnswerFormat& format);

// What is said of a batch: shares of answers that were judged, reasons counted.
struct BatchSummary {
  double reward = 0, valid = 0, correct = 0;  // means over judged answers
  double speedup = 0;                         // geometric mean of right ones; 0: none is right
  double mixed = 0;                           // share of tasks with right and other answers
  int64_t answers = 0, not_judged = 0, cut_off = 0, distinct = 0, tokens = 0;
  std::map<int, std::pair<int64_t, int64_t>> by_level;  // right ones, judged ones
  std::map<std::string, int64_t> stages;                // rejections
  std::map<std::string, int64_t> reasons;               // "compile: [code]"; of the not judged too
};
BatchSummary summarise(const RlBatch& batch, const RlObjectiveOptions& options);

// Reasons that differ in names, numbers and places alone are one: the code that a worker gave it,
// with the error that it names, or the text up to what tells answers apart.
std::string kind_of_reason(const std::string& stage, const std::string& reason);

}  // namespace kw
