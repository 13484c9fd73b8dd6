// A Task on a backend: its kernels loaded, its four Programs prepared, and what a trial draws from
// them: parameters, derived tensors and fresh inputs, all from a seed.
//
// Draws are deterministic: equal task, seed and variation give equal bytes, unless a step that
// makes them has no deterministic algorithm in PyTorch (torch.use_deterministic_algorithms).
// Variations change inputs in place (vary.h), and parameters by name, so that both sides of a trial
// get the same values: kAffine the constant floating ones and buffers (scales, shifts and running
// statistics that constructors leave at 0 or 1), kParameters all parameters besides, kIntegers
// makes them integers (integers.h). One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/aten/backend.h"
#include "executor/aten/seeds.h"
#include "executor/discrete/index_outputs.h"
#include "executor/replay/replay.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw {

// Calls after which what a model keeps is as in use: a mark may wander from element to element.
constexpr int kEarlierCalls = 3;

// Factor and addend by qualified name.
struct ScaleShift {
  at::Tensor scale, shift;
};
using AffineChange = std::map<std::string, ScaleShift>;

struct Draw {
  std::vector<at::Tensor> state, derived, inputs;
  AffineChange affine;  // already done to `state`
  std::vector<at::Tensor> all() const;
  // The same with others, as all() has them, in their place; without `affine`.
  Draw with(std::span<const at::Tensor> all) const;  // forward's inputs in order
};

class LoadedTask {
 public:
  // ReplayError, InputError when the task cannot be prepared.
  LoadedTask(Task task, Backend& backend);

  const Task& task() const { return task_; }
  Replay& forward() { return *forward_; }
  // Forward in float64; NotJudged when there is none. Made at first use.
  Replay& oracle();
  // Outputs that say where something stands. Of a run of oracle() and of traced(), which is
  // forward() otherwise, what each chooses among follows the outputs.
  const std::vector<Choice>& choices() const { return choices_; }
  Replay& traced();

  std::vector<at::Tensor> draw_state(uint64_t seed);
  // Chooses changes for entries of a freshly drawn state that are not `fixed`: of kAffine for
  // constant ones, which keep their sign; of kParameters for parameters whatever they are too, some
  // with the other sign.
  AffineChange choose_affine(const std::vector<at::Tensor>& state, uint64_t seed,
                             const Varied& varied) const;
  AffineChange choose_integers(const std::vector<at::Tensor>& state, uint64_t seed,
                               const Varied& varied) const;
  void apply_affine(const AffineChange& change, const std::vector<at::Tensor>& state) const;
  std::vector<at::Tensor> draw_derived(const std::vector<at::Tensor>& state,
                                       const ReplayOptions& options);
  std::vector<at::Tensor> draw_inputs(const std::vector<at::Tensor>& state, uint64_t seed,
                                      const Varied& varied = {}, uint64_t variation_seed = 0);
  // All of them, as the reference side of a trial sees them.
  Draw draw(uint64_t seed, const Varied& varied);

  // Whether zeros or an answer to other inputs would pass; found out once.
  std::optional<bool> passes_stale;
  bool times_checked = false;  // outputs of timed runs were those of an untimed one

 private:
  // Leaves in `state` what a few calls on other inputs leave there.
  void use(const std::vector<at::Tensor>& state, const std::vector<at::Tensor>& derived,
           uint64_t seed);

  Task task_;
  Backend& backend_;
  std::vector<bool> random_masks_;  // by input: a mask that is drawn
  std::unique_ptr<KernelSet> kernels_;
  std::unique_ptr<Replay> init_, derive_, inputs_, forward_;
  std::unique_ptr<Replay> oracle_, traced_;
  std::vector<Choice> choices_;
};

}  // namespace kw
