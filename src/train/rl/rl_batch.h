// The batch of a step of reinforcement learning: tasks, sampled answers, their judgements, the
// groups that an objective learns from, and a summary for people. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/generator.h"
#include "train/data/rl_tasks.h"
#include "train/judge/judge.h"
#include "train/rl/policy_gradient.h"
#include "train/rl/rl_objective.h"

namespace kw::train {

struct SamplingOptions {
  int64_t answers = 8;  // to a prompt
  int64_t max_tokens = 1024;
  double temperature = 1;
};

struct RlBatch {
  int64_t step = 0;        // the step that it is for
  uint64_t place = 0;      // the task source's place after its tasks
  RlTaskCounts looked_at;  // the programs that were looked at for its tasks
  std::vector<RlTask> tasks;
  size_t answers = 0;            // to each task
  std::vector<Generation> made;  // the answers, task by task
  JudgeReport report;            // in the same order
};

// Returns the seed of an answer, which depends on these numbers alone.
uint64_t answer_seed(uint64_t run_seed, int64_t step, size_t prompt, size_t answer);
std::vector<GenerationRequest> requests_of(const std::vector<RlTask>& tasks,
                                           const SamplingOptions& options, uint64_t run_seed,
                                           int64_t step);
std::vector<AnswerToJudge> answers_of(const RlBatch& batch);

// Returns the judged answers by task, without tasks that have none.
std::vector<SampledGroup> groups_of(const RlBatch& batch, const AnswerFormat& format);

// A summary of a batch: shares of its judged answers, and counts of reasons.
struct BatchSummary {
  double reward = 0, valid = 0, correct = 0;  // means over judged answers
  double speedup = 0;                         // geometric mean of right answers; 0: none is right
  double mixed = 0;                           // share of tasks that have right and other answers
  int64_t answers = 0, not_judged = 0, cut_off = 0, distinct = 0, tokens = 0;
  std::map<int, std::pair<int64_t, int64_t>> by_level;  // right ones, judged ones
  std::map<std::string, int64_t> stages;                // rejections
  std::set<std::string> right_programs;                 // hashes of what was accepted
  std::map<std::string, int64_t> reasons;               // "compile: [code]"; of the not judged too
};
BatchSummary summarise(const RlBatch& batch, const RlObjectiveOptions& options);

// Returns the kind of a reason, so that reasons that differ only in names, numbers and places are
// counted as one. It is the worker's code with the error that it names, or the text's common start.
std::string kind_of_reason(const std::string& stage, const std::string& reason);

}  // namespace kw::train
