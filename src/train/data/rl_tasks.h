// Tasks for reinforcement learning: programs drawn from a seed (program_source.h), each with the
// prompt that a model reads and the task that its answer is judged against. Programs are skipped if
// they cannot be recorded, compute nothing, are no fair task or have too long a prompt. So the
// tasks depend on seed, weights and place alone.
//
// Borrows everything. One thread calls it. Another thread does the work: all users of a pool share
// that thread, and it outlives the pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "policy/chat/prompt.h"
#include "train/data/answer_format.h"
#include "train/data/program_source.h"
#include "worker/work_thread.h"

namespace kw::train {

struct RlTask {
  uint64_t index = 0;  // of the program
  int level = 1;
  std::shared_ptr<const Task> task;
  std::vector<TokenId> prompt;
};

struct RlTaskOptions {
  size_t longest_prompt = 2048;  // tokens
  uint64_t programs = 0;         // the programs that are repeated; 0: always new ones
};

struct RlTaskCounts {
  int64_t programs = 0;                              // all that were looked at
  int64_t unrecorded = 0, unfair = 0, too_long = 0;  // those of them that were skipped, by reason
};

class RlTaskSource {
 public:
  // Returns whether a program is a fair task, with values drawn by a seed; empty: all are.
  using IsFair = std::function<bool(const Task& task, uint64_t seed)>;

  RlTaskSource(ProgramOptions programs, RlTaskOptions options, const AnswerFormat& format,
               WorkThread& thread, WorkerPool& pool, const DeviceProfile& profile, IsFair is_fair,
               const std::atomic<bool>& stop);
  ~RlTaskSource();  // waits for what was begun; for one program at most if the run is to stop
  RlTaskSource(const RlTaskSource&) = delete;
  RlTaskSource& operator=(const RlTaskSource&) = delete;

  struct Found {
    std::vector<RlTask> tasks;
    RlTaskCounts counts;
    uint64_t place = 0;  // the program after the last one that was looked at
  };
  // Returns the next tasks, of programs from number `place` on. `weights` says how likely each
  // level is. The future throws InputError if hundreds of programs in a row are skipped. There are
  // fewer tasks if the run is to stop.
  std::future<Found> begin(size_t count, uint64_t place, std::vector<double> weights);
  Found next(size_t count, uint64_t place, const std::vector<double>& weights) {
    return begin(count, place, weights).get();
  }

 private:
  Found find(size_t count, uint64_t place, const std::vector<double>& weights);
  bool take(DrawnProgram& drawn, Found& out) const;

  ProgramOptions programs_;
  const RlTaskOptions options_;
  const AnswerFormat& format_;
  WorkThread& thread_;
  WorkerPool& pool_;
  const DeviceProfile& profile_;
  const IsFair is_fair_;
  const std::atomic<bool>& stop_;
};

}  // namespace kw::train
