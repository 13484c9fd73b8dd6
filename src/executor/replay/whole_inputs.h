// Inputs whose whole numbers and flags are others than a task draws (runtime/protocol.h,
// source_change()).
//
// The sources of the inputs are changed, and the other steps run on what they became. Such a set
// counts only if the task takes it: its forward runs on the CPU, where PyTorch checks indices, and
// gives the same twice. If it does not, or gives NaN or infinities, a smaller change is tried, then
// sources alone. A set with NaN or infinities is better than none.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "executor/discrete/whole_numbers.h"
#include "executor/replay/cpu_reference.h"
#include "executor/replay/sourced_replay.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw::exec {

class WholeInputs {
 public:
  // `inputs` are the task's. All must outlive this.
  WholeInputs(const Task& task, SourcedReplay& inputs, CpuReference& on_cpu);

  // Returns inputs for a state and what is derived of it. Throws ReplayError if the task takes no
  // such set, or cannot run on the CPU within reason.
  std::vector<at::Tensor> draw(const std::vector<at::Tensor>& state,
                               const std::vector<at::Tensor>& derived, uint64_t seed,
                               Variation variation);

 private:
  // Which sources change, and how far. An attempt is the same for each candidate of a task.
  struct Attempt {
    std::vector<size_t> sources;
    Reach reach;
  };
  std::vector<Attempt> attempts(SourceChange change, uint64_t seed) const;
  std::vector<at::Tensor> made(const std::vector<at::Tensor>& state, uint64_t seed,
                               SourceChange change, const Attempt& attempt);
  // Returns the number of the attempt that the task takes.
  size_t choose(const std::vector<Attempt>& plan, const std::vector<at::Tensor>& state,
                const std::vector<at::Tensor>& derived, uint64_t seed, SourceChange change);

  SourcedReplay& inputs_;
  CpuReference& on_cpu_;
  const std::vector<int64_t> named_;
  const std::vector<SourceChange> changes_;                 // none if the task cannot run on a CPU
  const bool counts_last_;                                  // of several writes to one place
  std::map<std::pair<uint64_t, Variation>, size_t> taken_;  // the attempt that was
};

}  // namespace kw::exec
