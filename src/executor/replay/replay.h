// A Program made ready to run on one backend, any number of times.
//
// Preparing resolves every operator and launch, finds the last use of each value and the results
// whose layout matters. A run keeps one slot a value, frees it after its last use and, when
// checked, holds each step to its record: dtype, shape, aliasing, and strides where a launch or a
// view relies on them. A fresh result that PyTorch laid out otherwise on this backend, or that
// aliases something the record says it does not, is copied into what the record says; those steps
// are remembered, so that unchecked (timed) runs do the same.
//
// A failed step is a ReplayError that names it. Runs in inference mode, on the backend's current
// stream, without waiting for the device. One thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "executor/arithmetic/kernel_arithmetic.h"
#include "executor/aten/backend.h"
#include "executor/aten/guarded_memory.h"
#include "executor/aten/operators.h"
#include "program/program.h"
#include "program/rewrite/transform.h"

namespace kw {

struct ReplayOptions {
  EmptyFill fill = EmptyFill::kLeave;
  bool checked = true;
  Guards* guards =
      nullptr;  // results of the empty family, and what launches are given, come from here
  // What lies between steps is overwritten when it is freed: later kernels may find freed memory,
  // and are given the same inputs.
  bool overwrites = false;
  // Steps as KernelArithmetic has them: those that round computed numbers to integers, the others.
  bool near_ties_fall = false, as_kernels_do = false;
  // If not 0, which errors steps have, of those that nobody has to be better than: as
  // KernelArithmetic has them and, with `round_otherwise`, of every rounded result
  // (right_to_a_unit()).
  int32_t dither = 0;
  bool round_otherwise = false;
  bool skip_all_launches = false;
  std::optional<int> skip_launch;  // step index
  // Only these steps run, on inputs of these storages: the others need not be there, and outputs
  // that come from elsewhere are undefined.
  const Lineage* part = nullptr;
  // With launches skipped: what results of the empty family hold that are no outputs, instead of
  // poison. Integers are 0: they may serve as indices, and one out of range would cost the device.
  std::optional<double> unwritten;
};

class Replay {
 public:
  // `kernels` and `set` must outlive this.
  // `exact_outputs`: results that reach an output get the recorded layout, whoever made them.
  Replay(Program program, const std::vector<Kernel>& kernels, KernelSet* set, at::Device device,
         bool exact_outputs = false);
  // Of a program out of oracle.h's widened(): floating results are made float64; random steps run
  // in the dtypes of `narrow`, the recorded program, so that they draw the same numbers.
  static Replay wide(Program program, Program narrow, at::Device device);

  // `inputs` as Program::inputs; a run may overwrite those that the program mutates.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs, const ReplayOptions& options);

  // float32 convolutions get operands in TF32 in every run. For a CPU that stands in for a device.
  void convolve_in_tf32() { convolve_in_tf32_ = true; }
  // Whether ReplayOptions::as_kernels_do makes a difference.
  bool has_kernel_arithmetic() const;
  // Whether one with `near_ties_fall` may.
  bool has_near_ties() const;

  const Program& program() const { return program_; }
  const std::vector<int>& launch_steps() const { return launch_steps_; }
  // For each input, whether some step overwrites its storage.
  const std::vector<bool>& mutated_inputs() const { return mutated_inputs_; }
  // Around buffers of the last run's launches.
  bool guards_intact() const { return guards_intact_; }
  // Whether a checked run has shown which results PyTorch lays out otherwise.
  bool laid_out() const { return laid_out_; }
  // Steps whose result was copied into the recorded layout, in any run so far.
  const std::set<int>& relaid_steps() const { return relaid_; }

 private:
  struct PreparedStep {
    std::string name;  // "step 3 (aten.mm.default)"
    std::optional<OperatorCall> call;
    std::unique_ptr<PreparedLaunch> launch;
    std::vector<ValueId> launch_values;  // -1 where the argument is no tensor
    std::vector<int64_t> alignments;     // of pointers, bytes
    std::vector<ValueId> defines;        // -1 where there is no tensor or nobody uses it
    std::vector<ValueId> release;        // values used for the last time
    bool empty = false;
    std::vector<ValueId> probabilities;  // must lie in [0, 1]
    ValueId in_order = -1;               // must not fall along its last dimension
    std::optional<KernelArithmetic> as_kernels;
    bool rounds = false;
  };
  struct Run;  // the state of one run

  void prepare(const std::vector<Kernel>& kernels, KernelSet* set);
  void find_last_uses();
  void find_exact_layouts(bool exact_outputs);
  void run_steps(Run& run);
  void run_step(int index, Run& run);
  void run_call(int index, Run& run);
  void run_launch(int index, Run& run);
  std::vector<at::Tensor> call_narrow(int index, Run& run);
  std::vector<at::Tensor> call(const PreparedStep& step, const Run& run) const;
  std::vector<at::Tensor> call_dithered(int index, const Run& run) const;
  void guard(int index, at::Tensor& result, ValueId id, Run& run);
  at::Tensor fill_empty(at::Tensor made, ValueId id, Run& run);
  void define(int index, ValueId id, at::Tensor tensor, Run& run);
  void release(ValueId id, Run& run);
  void overwrite(const at::Tensor& tensor, const Run& run) const;
  // Overwrites what a failed run left. Throws NotJudged where that fails and nobody knows yet
  // whether the device is lost.
  void overwrite_all(Run& run) const;

  Program program_;
  std::optional<Program> narrow_;
  at::Device device_;
  std::vector<PreparedStep> steps_;
  std::vector<int> launch_steps_;
  std::vector<bool> mutated_inputs_;
  std::vector<bool> exact_;     // by storage number
  std::vector<bool> output_;    // by storage number
  std::vector<bool> input_;     // the same
  std::vector<bool> launched_;  // by storage number: given to a launch
  std::set<int> relaid_;
  bool guards_intact_ = true, laid_out_ = false;
  bool convolve_in_tf32_ = false;
};

// Whether a tensor's dimensions larger than 1 step as the record says.
bool same_strides(const at::Tensor& tensor, const Value& value);
// Program inputs whose storage some step overwrites.
std::vector<bool> find_mutated_inputs(const Program& program, const std::vector<Kernel>& kernels);

}  // namespace kw
