// A Task on a backend, with its kernels loaded and its four Programs prepared. A trial draws
// parameters, derived tensors and fresh inputs from it, all from a seed.
//
// Draws are deterministic: equal task, seed and variation give equal bytes. The exception is a step
// that has no deterministic algorithm in PyTorch (torch.use_deterministic_algorithms).
//
// Variations change inputs in place (vary.h). kAffine and kParameters change all floating state but
// tables (program/rewrite/tables.h): weights, and what constructors leave at 0 or 1. By kAffine,
// what is no constant keeps its sign. kIntegers makes parameters integers (integers.h). Those of
// source_change() change sources of the inputs (whole_inputs.h), and kCrossed scales inputs or
// parameters (crossed_inputs.h). For one thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/aten/backend.h"
#include "executor/aten/seeds.h"
#include "executor/discrete/index_outputs.h"
#include "executor/replay/cpu_reference.h"
#include "executor/replay/crossed_inputs.h"
#include "executor/replay/replay.h"
#include "executor/replay/whole_inputs.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw::exec {

// The number of calls that bring a model's buffers into the state of use.
constexpr int kEarlierCalls = 3;

// A factor and an addend. AffineChange has them by entry of the state.
struct ScaleShift {
  at::Tensor scale, shift;
};
using AffineChange = std::vector<std::optional<ScaleShift>>;

struct Draw {
  std::vector<at::Tensor> state, derived, inputs;
  // Returns state, derived tensors and inputs, which are forward's inputs in order.
  std::vector<at::Tensor> all() const;
  // Returns a draw of the same sizes with other tensors, in the order of all().
  Draw with(std::span<const at::Tensor> all) const;
};

class LoadedTask {
 public:
  // Throws ReplayError or InputError if the task cannot be prepared.
  LoadedTask(Task task, Backend& backend);

  const Task& task() const { return task_; }
  Replay& forward() { return *forward_; }
  // Returns forward in float64, made at first use. Throws NotJudged if there is none.
  Replay& oracle();
  // Returns the discrete outputs. In runs of oracle() and traced(), their sources follow the
  // outputs. Apart from that, traced() is forward().
  const std::vector<DiscreteOutput>& discrete_outputs() const { return discrete_outputs_; }
  Replay& traced();

  std::vector<at::Tensor> draw_state(uint64_t seed);
  std::vector<at::Tensor> draw_derived(const std::vector<at::Tensor>& state,
                                       const ReplayOptions& options);
  std::vector<at::Tensor> draw_inputs(const std::vector<at::Tensor>& state, uint64_t seed,
                                      const Varied& varied = {}, uint64_t variation_seed = 0);
  // Draws everything, as the reference side of a trial needs it.
  Draw draw(uint64_t seed, const Varied& varied);

  // Whether the answer to other inputs would pass; set once it is known.
  std::optional<bool> passes_stale;
  bool times_checked = false;  // outputs of a timed run were those of an untimed one

 private:
  // Choose changes for entries of a freshly drawn state that are not `fixed`.
  AffineChange choose_affine(const std::vector<at::Tensor>& state, uint64_t seed,
                             const Varied& varied) const;
  AffineChange choose_integers(const std::vector<at::Tensor>& state, uint64_t seed,
                               const Varied& varied) const;
  std::vector<at::Tensor> draw_whole(const Draw& draw, uint64_t seed, Variation variation);
  SourcedReplay& sourced_inputs();
  void vary_tables(const std::vector<at::Tensor>& state, uint64_t seed, const Varied& varied,
                   uint64_t variation_seed, std::vector<at::Tensor>& inputs);
  // Scales what crosses a threshold: that of this index among those that the draw does not cross.
  void cross(Draw& draw, uint64_t seed, int index);
  static void apply_affine(const AffineChange& change, const std::vector<at::Tensor>& state);
  // Calls forward a few times on other inputs, which changes `state` and `derived`.
  void use(const std::vector<at::Tensor>& state, const std::vector<at::Tensor>& derived,
           uint64_t seed);

  Task task_;
  Backend& backend_;
  std::vector<int> varied_state_;
  std::vector<bool> random_masks_;  // for each input, whether it is a mask that is drawn
  std::vector<bool> tables_;        // for each input, whether it is a table (inputs/sources.h)
  std::vector<std::vector<double>> compared_numbers_;  // for each input (inputs/thresholds.h)
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<Replay> init_, derive_, inputs_, forward_;
  std::unique_ptr<Replay> oracle_, traced_;
  CpuReference on_cpu_{task_};
  // From their first use on.
  std::unique_ptr<SourcedReplay> sourced_inputs_;
  std::unique_ptr<WholeInputs> whole_inputs_;
  std::unique_ptr<CrossedInputs> crossed_inputs_;
  std::vector<DiscreteOutput> discrete_outputs_;
};

}  // namespace kw::exec
