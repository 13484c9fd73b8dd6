// Tasks for reinforcement learning: programs drawn from a seed as program_source.h has them, each
// as the prompt that a model reads and the task that its answer is judged against. What cannot be
// recorded, computes nothing, is no fair task or has too long a prompt is passed over, so that what
// is taken hangs on seed, weights and place alone.
//
// Borrows everything. One thread; another one, which all that share a pool have in common and which
// outlives that pool, does the work.
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

namespace kw {

struct RlTask {
  uint64_t index = 0;  // of the program
  int level = 1;
  std::shared_ptr<const Task> task;
  std::vector<TokenId> prompt;
};

struct RlTaskOptions {
  size_t longest_prompt = 2048;  // tokens
  uint64_t programs = 0;         // over and over these; 0: ever new ones
};

struct RlTaskCounts {
  int64_t programs = 0;  // that were looked at; of these,
  int64_t unrecorded = 0, unfair = 0, too_long = 0;
};

class RlTaskSource {
 public:
  // Whether a program is a fair task, its values drawn by a seed; empty: all are.
  using IsFair = std::function<bool(const Task& task, uint64_t seed)>;

  RlTaskSource(ProgramOptions programs, RlTaskOptions options, const AnswerFormat& format,
               WorkThread& thread, WorkerPool& pool, const DeviceProfile& profile, IsFair is_fair,
               const std::atomic<bool>& stop);
  ~RlTaskSource();  // waits for what was begun: one program at most where the run is to stop
  RlTaskSource(const RlTaskSource&) = delete;
  RlTaskSource& operator=(const RlTaskSource&) = delete;

  struct Found {
    std::vector<RlTask> tasks;
    RlTaskCounts counts;
    uint64_t place = 0;  // behind the last program that was looked at
  };
  // The next tasks, of programs from number `place` on. `weights` says how likely each of the
  // levels is. InputError where hundreds in a row are passed over. Fewer where the run is to stop.
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

}  // namespace kw
