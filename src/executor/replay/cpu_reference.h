// A task's forward on the CPU, where PyTorch checks indices. It tells whether a task takes inputs
// that nobody drew; on a device, an index out of range would cost the process its device.
#pragma once

#include <memory>
#include <vector>

#include "executor/replay/replay.h"
#include "program/program.h"

namespace kw::exec {

class CpuReference {
 public:
  // `task` must outlive this, and launch no kernels.
  explicit CpuReference(const Task& task) : task_(task) {}

  enum class Taken { kNo, kNotFinite, kFinite };
  // Runs forward on copies of `all`, twice, with different numbers in fresh memory. kNo: it fails,
  // or gives something else the second time. kNotFinite: some result is NaN or infinite.
  Taken takes(const std::vector<at::Tensor>& all, uint64_t seed);

 private:
  const Task& task_;
  std::unique_ptr<Replay> forward_;  // from its first use on
};

// Returns copies of `tensors` on the CPU.
std::vector<at::Tensor> copies_on_cpu(const std::vector<at::Tensor>& tensors);

}  // namespace kw::exec
