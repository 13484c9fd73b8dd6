#include "executor/replay/sourced_replay.h"

#include "executor/aten/seeds.h"

namespace kw::exec {

SourcedReplay::SourcedReplay(const Task& task, KernelSet* set, at::Device device)
    : split_(split_sources(task.inputs)),
      sources_(split_.made, task.kernels, set, device, true),
      rest_(split_.rest, task.kernels, set, device, true) {}

std::vector<at::Tensor> SourcedReplay::run(const std::vector<at::Tensor>& state, uint64_t seed,
                                           const Change& change) {
  seed_generators(derive_seed(seed, Purpose::kInputs));
  std::vector<at::Tensor> sources;
  // A constant is the same tensor in each run.
  for (const at::Tensor& source : sources_.run({}, ReplayOptions(Unwritten::kZeros))) {
    sources.push_back(source.clone());
  }
  seed_generators(derive_seed(seed, Purpose::kSources));
  change(sources);
  std::vector<at::Tensor> all = state;
  all.insert(all.end(), sources.begin(), sources.end());
  return rest_.run(std::move(all), ReplayOptions(Unwritten::kZeros));
}

}  // namespace kw::exec
