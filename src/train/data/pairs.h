// Pairs to learn from before there is any reward: programs drawn from a seed, as tasks' texts, and
// what the teacher writes for them, plan first, code behind it. Programs are of the training split;
// what a step's result is called starts at a random number, and kernels at the same, so that
// copying names is what is learned. The same seed gives the same pairs on any machine, in any
// order, however many threads make them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/chat/prompt.h"
#include "train/data/program_source.h"

namespace kw {

struct PairOptions : ProgramOptions {
  int schedules = 4;  // of a program, the teacher's best first, but for overlong ones; or fewer
};

struct Pair {
  uint64_t index = 0;  // of the program
  int level = 1;
  int schedule = 0;       // which of the program's
  std::string operators;  // "Conv2d, ReLU"
  std::string prompt;     // task_text()
  std::string plan, code;
  std::shared_ptr<const Task> task;  // what the prompt says

  std::string answer() const { return plan + code; }  // as parse_answer() takes it apart
};

struct PairCounts {
  int64_t programs = 0;    // of these,
  int64_t unrecorded = 0;  // could not be recorded: a fault of the machine or of synthesis,
  int64_t unwritten = 0;   // the teacher has no kernels for;
  int64_t pairs = 0;
  double draw_seconds = 0, record_seconds = 0, write_seconds = 0;  // wall time
};

// Borrows pool and profile. One thread.
class PairSource {
 public:
  // InputError where no level is asked for.
  PairSource(PairOptions options, WorkerPool& pool, const DeviceProfile& profile);
  // Pairs of the programs [begin, end), in order. No other job of the pool may be under way.
  std::vector<Pair> make(uint64_t begin, uint64_t end);
  const PairCounts& counts() const { return counts_; }
  int threads() const { return programs_.options().threads; }  // that write kernels
  // Why the first that was not recorded was not; empty where there is none.
  const std::string& first_fault() const { return programs_.first_fault(); }

 private:
  std::vector<Pair> write(const DrawnProgram& drawn) const;

  PairOptions options_;
  const DeviceProfile& profile_;
  ProgramSource programs_;
  PairCounts counts_;
};

}  // namespace kw
