// A Replay is a Program that is ready to run on one backend, any number of times.
//
// Preparing it resolves every operator and launch, and finds the last use of each value and the
// results whose layout matters. A run keeps one slot a value and frees it after its last use. A
// checked run holds each step to its record: dtype, shape, aliasing, and strides if a launch or a
// view relies on them. On this backend PyTorch may lay out a fresh result otherwise, or return an
// alias that the record does not have. Such a result is copied into the recorded layout. The step
// is remembered, so that unchecked (timed) runs do the same.
//
// A failed step throws a ReplayError that names it. Runs are in inference mode, on the backend's
// current stream, and do not wait for the device. A Replay is for one thread.
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
#include "runtime/protocol.h"

namespace kw::exec {

// What a run of a candidate leaves out.
struct Ablation {
  bool all_launches = false;
  std::optional<int> launch;  // step index
  // If set, only these steps run, on inputs of these storages. Other inputs may be undefined.
  // Outputs that come from other steps are undefined.
  const Lineage* part = nullptr;
  // What results of the empty family hold instead of poison, unless they are outputs. Integers hold
  // 0, because one that serves as an index would cost the device if it is out of range.
  std::optional<double> unwritten;
};

// Sees what launches read and write in a run: all tensors by value number, right before a launch
// and right after it.
class LaunchWatch {
 public:
  virtual ~LaunchWatch() = default;
  virtual void before(int step, const std::vector<at::Tensor>& slots) = 0;
  virtual void after(int step, const std::vector<at::Tensor>& slots) = 0;
};

// How a program runs. The named functions are the ways that are in use.
class ReplayOptions {
 public:
  // A checked run. Results of the empty family hold what `fill` says.
  ReplayOptions() = default;
  explicit ReplayOptions(Unwritten fill) : fill_(fill) {}

  // A run that is timed: nothing is checked, filled or overwritten.
  static ReplayOptions timed();
  // A run of a reference: the results of the empty family are poison, and values between steps are
  // overwritten when they are freed. Later kernels may find freed memory and get the same inputs.
  static ReplayOptions reference();
  // A run of a reference that computes as KernelArithmetic does, except for near ties.
  static ReplayOptions as_kernels();
  // A run as as_kernels(), with other errors for each `dither`, which is not 0. They are errors
  // that no candidate has to be better than. With `every_result`, each rounded result has such an
  // error (right_to_a_unit()), too.
  static ReplayOptions perturbed(int32_t dither, bool every_result);
  // A run of a reference in which KernelArithmetic flips near ties.
  static ReplayOptions ties_flipped();
  // A run of a candidate. Results of the empty family, and what launches are given, come from
  // `guards`. `guards`, `ablation.part` and `watch` must outlive the run.
  static ReplayOptions candidate(Guards& guards, Unwritten fill, const Ablation& ablation = {},
                                 LaunchWatch* watch = nullptr);

 private:
  friend class Replay;
  std::optional<Unwritten> fill_;
  bool checked_ = true;
  bool overwrites_ = false;
  bool as_kernels_ = false, flips_ties_ = false;
  int32_t dither_ = 0;
  bool dithers_every_result_ = false;
  Guards* guards_ = nullptr;
  Ablation ablation_;
  LaunchWatch* watch_ = nullptr;
};

class Replay {
 public:
  // `kernels` and `set` must outlive this. With `exact_outputs`, every result that reaches an
  // output gets the recorded layout.
  Replay(Program program, const std::vector<Kernel>& kernels, KernelSet* set, at::Device device,
         bool exact_outputs = false);
  // Returns the Replay of a program that widened() (oracle.h) returned. Floating results become
  // float64. Random steps run in the dtypes of `narrow`, the recorded program, so that they draw
  // the same numbers.
  static Replay wide(Program program, Program narrow, at::Device device);

  // Runs the program on `inputs`, in the order of Program::inputs, and returns its outputs. A run
  // may overwrite the inputs that the program mutates.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs, const ReplayOptions& options);

  // Gives float32 convolutions operands in TF32 in every run, for a CPU that replaces a device.
  void convolve_in_tf32() { convolve_in_tf32_ = true; }
  // Makes runs return complex outputs as their real and imaginary parts, so that they are compared
  // as real numbers are.
  void give_parts_of_complex() { gives_parts_ = true; }
  // Returns whether ReplayOptions::as_kernels() makes a difference.
  bool has_kernel_arithmetic() const;
  // Returns whether ReplayOptions::ties_flipped() may make a difference.
  bool has_near_ties() const;

  const Program& program() const { return program_; }
  const std::vector<int>& launch_steps() const { return launch_steps_; }
  // Returns for each input whether some step overwrites its storage.
  const std::vector<bool>& mutated_inputs() const { return mutated_inputs_; }
  // Returns whether the bytes around buffers of the last run's launches are intact.
  bool guards_intact() const { return guards_intact_; }
  // Returns whether a checked run has found which results PyTorch lays out otherwise.
  bool laid_out() const { return laid_out_; }
  // Returns the steps whose result was copied into the recorded layout, in any run so far.
  const std::set<int>& relaid_steps() const { return relaid_; }

 private:
  struct PreparedStep {
    std::string name;  // "step 3 (aten.mm.default)"
    std::optional<OperatorCall> call;
    std::unique_ptr<PreparedLaunch> launch;
    std::vector<ValueId> launch_values;  // -1 if the argument is no tensor
    std::vector<int64_t> alignments;     // of pointers, in bytes
    std::vector<ValueId> defines;        // -1 if there is no tensor or no use of it
    std::vector<ValueId> release;        // values that are used for the last time
    bool empty = false;
    std::vector<ValueId> probabilities;  // must lie in [0, 1]
    ValueId in_order = -1;               // must not decrease along its last dimension
    std::optional<KernelArithmetic> as_kernels;
    bool rounds = false;
  };
  struct Run;

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
  // Overwrites what a failed run left. Throws NotJudged if that fails and it is not known yet
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
  std::vector<bool> input_;     // by storage number
  std::vector<bool> launched_;  // by storage number: given to a launch
  std::set<int> relaid_;
  bool guards_intact_ = true, laid_out_ = false;
  bool convolve_in_tf32_ = false;
  bool gives_parts_ = false;
};

// Returns whether the strides of a tensor's dimensions larger than 1 are the recorded ones.
bool same_strides(const at::Tensor& tensor, const Value& value);
// Returns for each program input whether some step overwrites its storage.
std::vector<bool> find_mutated_inputs(const Program& program, const std::vector<Kernel>& kernels);

}  // namespace kw::exec
