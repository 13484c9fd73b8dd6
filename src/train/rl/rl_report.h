// What a step of reinforcement learning says of itself: to the log, and to people. Torch-free; pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/json.h"
#include "train/judge/judge.h"
#include "train/rl/curriculum.h"

namespace kw {

struct BatchSummary;
struct RlTaskCounts;

// Wall time of a step by what the run did or waited for.
using PhaseSeconds = std::map<std::string, double>;

// All updates of a batch together: means, but for tokens and their number.
struct LearnReport {
  double loss = 0, kl = 0, clipped = 0, drift = 0, norm = 0, rate = 0;
  int64_t updates = 0, tokens = 0;
};

struct StepReport {
  int64_t step = 0, steps = 0;
  int level = 1;  // the curriculum's
  double seconds = 0;
  PhaseSeconds phases;
  JudgeTimes judge;  // which pass while the run does other things, where these overlap
  LearnReport learned;
};

Json step_numbers(const StepReport& report, const BatchSummary& batch, const RlTaskCounts& tasks);
// "pass_level_2": the share of that level's judged answers that is right.
void add_pass_by_level(const BatchSummary& batch, Json& to);
std::string step_line(const StepReport& report, const BatchSummary& batch);
// "held out, level 2: 61 of 200 right (30 %, from 24 %)".
std::string held_out_line(int level, const HeldOut& found);

// Values between the least and the most of them as blocks of eight heights, the last `most` ones.
std::string sparkline(const std::vector<double>& values, size_t most);

}  // namespace kw
