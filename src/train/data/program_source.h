// Programs drawn from a seed and recorded as tasks, for pairs and for reinforcement learning. A
// program of level 2 or above is in one split. A program of level 1 is in all splits, so other
// programs of level 1 need another seed (validation_seed). A seed gives the same programs on any
// machine, in any order and by any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/dtype.h"
#include "synth/draw/drawn_program.h"
#include "synth/draw/split.h"
#include "synth/sizes/dims.h"
#include "synth/skeleton/synth_operators.h"
#include "worker/device_profile.h"
#include "worker/jobs.h"
#include "worker/worker_pool.h"

namespace kw::train {

struct ProgramOptions {
  uint64_t seed = 1;
  std::vector<int> levels = {1};  // each program has one of these
  std::vector<double> weights;    // how likely each level is; empty: all are equally likely
  DType dtype = DType::kFloat32;
  std::vector<const SynthOperator*> operators = pointers(csp_dag_operators());
  // Windows of sizes: each program has one of them, and all are equally likely.
  std::vector<DimsLimits> limits = {{}};
  Split split = Split::kTrain;  // the split of programs of level 2 and above
  int threads = 0;              // threads that draw; 0: one for each core
};

// Throws InputError if programs of some level and window do not exist, or are too rare to draw
// those of the split. Some seconds of draws decide that. A run would otherwise find out later,
// after minutes of draws, when its curriculum reaches that level.
void check_drawable(const ProgramOptions& options);

// Returns how programs of one level and window are drawn. Those of one operator are in every split.
SynthOptions synth_options(const ProgramOptions& options, int level, const DimsLimits& limits);

// Returns another seed, whose programs differ from those of `seed`.
uint64_t validation_seed(uint64_t seed);

// Returns the number that names in a program's text and its answers begin with, so that the model
// learns to copy names. Values and kernels share the number, so that equal answers have equal
// texts.
int first_name(uint64_t seed, uint64_t index);

struct DrawnProgram {
  uint64_t index = 0;
  int level = 1;
  std::string operators, text;  // "Conv2d, ReLU"; the model file
  bool only_views = false;      // it computes nothing
  std::optional<Task> task;     // the whole forward program as one fragment; empty: not recorded
};

// Calls work(i) for each i below `count`, from `threads` threads. Rethrows what a call threw.
void in_parallel(size_t count, int threads, const std::function<void(size_t)>& work);

// Borrows pool and profile. One thread.
class ProgramSource {
 public:
  // Throws InputError if no level is asked for.
  ProgramSource(ProgramOptions options, WorkerPool& pool, const DeviceProfile& profile);
  // Returns the programs [begin, end), in order, without tasks.
  std::vector<DrawnProgram> draw(uint64_t begin, uint64_t end) const;
  // Fills in their tasks. No other job of the pool may be under way.
  void record(std::vector<DrawnProgram>& drawn);
  const ProgramOptions& options() const { return options_; }
  int64_t unrecorded() const { return unrecorded_; }  // by a fault of machine or synthesis
  // Returns why the first unrecorded program was not recorded; empty if all were.
  const std::string& first_fault() const { return first_fault_; }

 private:
  size_t choose_level(uint64_t index) const;

  ProgramOptions options_;
  WorkerPool& pool_;
  const DeviceProfile& profile_;
  int64_t unrecorded_ = 0;
  std::string first_fault_;
};

}  // namespace kw::train
