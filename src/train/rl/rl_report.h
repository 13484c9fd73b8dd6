// The report of a step of reinforcement learning, for the log and for people. Torch-free; pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/json.h"
#include "train/judge/judge.h"
#include "train/rl/curriculum.h"

namespace kw::train {

struct BatchSummary;
struct RlTaskCounts;

// The wall time of a step in seconds, by what the run did or waited for.
using PhaseSeconds = std::map<std::string, double>;

// All updates of a batch together: means, except for the counts of updates and tokens.
struct LearnReport {
  double loss = 0, kl = 0, clipped = 0, drift = 0, norm = 0, rate = 0;
  int64_t updates = 0, tokens = 0;
};

struct StepReport {
  int64_t step = 0, steps = 0;
  int level = 1;  // the curriculum's
  double seconds = 0;
  PhaseSeconds phases;
  JudgeTimes judge;  // with overlap they pass while the run does other things
  LearnReport learned;
};

Json step_numbers(const StepReport& report, const BatchSummary& batch, const RlTaskCounts& tasks);
// Adds the share of each level's judged answers that is right, as "pass_level_2".
void add_pass_by_level(const BatchSummary& batch, Json& to);
std::string step_line(const StepReport& report, const BatchSummary& batch);
// Returns a line such as "held out, level 2: 61 of 200 right (30 %, from 24 %)".
std::string held_out_line(int level, const HeldOut& found);

// Returns the last `most` values as blocks of eight heights, between the least and the largest.
std::string sparkline(const std::vector<double>& values, size_t most);

}  // namespace kw::train
