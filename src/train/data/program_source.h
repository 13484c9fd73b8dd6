// Programs drawn from a seed and recorded as tasks: what pairs are made of, and what reinforcement
// learning asks about. A program of level 2 and above is of one split; one of level 1 is in all of
// them, so that other programs of level 1 need another seed (validation_seed). The same seed gives
// the same programs on any machine, in any order, however many threads draw them.
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

namespace kw {

struct ProgramOptions {
  uint64_t seed = 1;
  std::vector<int> levels = {1};  // of which each program has one
  std::vector<double> weights;    // how likely each level is; empty: each as likely
  DType dtype = DType::kFloat32;
  std::vector<const SynthOperator*> operators = pointers(csp_dag_operators());
  // Limits of sizes, of which each program has one, each as likely: full size, small twins.
  std::vector<DimsLimits> limits = {{}};
  Split split = Split::kTrain;  // that programs of level 2 and above are of
  int threads = 0;              // that draw; 0: one for each core
};

// InputError where programs of one of the levels have no sizes in one of the windows, or so seldom
// that those of the split cannot be drawn, as far as some seconds of draws can tell: a run would
// draw for minutes before it found out, which may be when its curriculum gets there.
void check_drawable(const ProgramOptions& options);

// How programs of one level and window are drawn. Those of one operator are in every split.
SynthOptions synth_options(const ProgramOptions& options, int level, const DimsLimits& limits);

// Another seed, for programs that those of `seed` are not.
uint64_t validation_seed(uint64_t seed);

// The number that names in a program's text and its answers begin with: what is learned is to copy
// names. One number for values and kernels, so that equal answers have equal texts.
int first_name(uint64_t seed, uint64_t index);

struct DrawnProgram {
  uint64_t index = 0;
  int level = 1;
  std::string operators, text;  // "Conv2d, ReLU"; the model file
  bool only_views = false;      // it computes nothing
  std::optional<Task> task;     // its whole forward program as one fragment; none: not recorded
};

// Calls work(i) for each i below `count`, from so many threads. Throws what one of them threw.
void in_parallel(size_t count, int threads, const std::function<void(size_t)>& work);

// Borrows pool and profile. One thread.
class ProgramSource {
 public:
  // InputError where no level is asked for.
  ProgramSource(ProgramOptions options, WorkerPool& pool, const DeviceProfile& profile);
  // The programs [begin, end), in order.
  std::vector<DrawnProgram> draw(uint64_t begin, uint64_t end) const;
  // Fills in their tasks. No other job of the pool may be under way.
  void record(std::vector<DrawnProgram>& drawn);
  const ProgramOptions& options() const { return options_; }
  int64_t unrecorded() const { return unrecorded_; }  // a fault of the machine or of synthesis
  // Why the first that was not recorded was not; empty where there is none.
  const std::string& first_fault() const { return first_fault_; }

 private:
  size_t choose_level(uint64_t index) const;

  ProgramOptions options_;
  WorkerPool& pool_;
  const DeviceProfile& profile_;
  int64_t unrecorded_ = 0;
  std::string first_fault_;
};

}  // namespace kw
