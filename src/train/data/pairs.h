// Pairs to learn from before there is any reward. A pair is the task's text of a program drawn from
// a seed, and the teacher's answer: a plan and then code. Programs are of the training split. The
// names of results and of kernels start at the same random number, so that the model learns to copy
// names. A seed gives the same pairs on any machine, in any order and by any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/chat/prompt.h"
#include "train/data/program_source.h"

namespace kw::train {

struct PairOptions : ProgramOptions {
  int schedules = 4;  // most answers a program: the teacher's best ones, without overlong ones
};

struct Pair {
  uint64_t index = 0;  // of the program
  int level = 1;
  int schedule = 0;       // the schedule's number within the program
  std::string operators;  // "Conv2d, ReLU"
  std::string prompt;     // task_text()
  std::string plan, code;
  std::shared_ptr<const Task> task;  // the task that the prompt states

  std::string answer() const { return plan + code; }  // as parse_answer() reads it
};

struct PairCounts {
  int64_t programs = 0;    // all that were drawn
  int64_t unrecorded = 0;  // those that could not be recorded, by a fault of machine or synthesis
  int64_t unwritten = 0;   // those for which the teacher has no kernels
  int64_t pairs = 0;
  double draw_seconds = 0, record_seconds = 0, write_seconds = 0;  // wall time
};

// Borrows pool and profile. One thread.
class PairSource {
 public:
  // Throws InputError if no level is asked for.
  PairSource(PairOptions options, WorkerPool& pool, const DeviceProfile& profile);
  // Returns the pairs of the programs [begin, end), in order. No other job of the pool may be under
  // way.
  std::vector<Pair> make(uint64_t begin, uint64_t end);
  const PairCounts& counts() const { return counts_; }
  int threads() const { return programs_.options().threads; }  // those that write kernels
  // Returns why the first unrecorded program was not recorded; empty if all were.
  const std::string& first_fault() const { return programs_.first_fault(); }

 private:
  std::vector<Pair> write(const DrawnProgram& drawn) const;

  PairOptions options_;
  const DeviceProfile& profile_;
  ProgramSource programs_;
  PairCounts counts_;
};

}  // namespace kw::train
