// A run of reinforcement learning, from a recipe to a model's folder. A step draws tasks, samples
// answers to each from the model in training, has them judged, and updates the model by an
// objective. From time to time held-out tasks decide whether the curriculum goes on. The run can be
// stopped at any time and goes on from its last checkpoint; without overlap, it goes on exactly.
//
// Only the calling thread uses the model.
#pragma once

#include <atomic>
#include <filesystem>

#include "train/rl/rl_config.h"
#include "train/rl/rl_crew.h"

namespace kw::train {

struct RlEnd {
  int64_t step = 0;
  bool done = false;  // at the last step or the curriculum's end; false: the run was stopped
};

// Learns until the last step, the curriculum's end, or `stop`, and writes a checkpoint then. Throws
// InputError for what the recipe has wrong.
RlEnd run_rl(const RlConfig& config, const Settings& settings, const std::filesystem::path& run,
             const std::atomic<bool>& stop, const RunProgress& progress, const RlCrew& crew);

}  // namespace kw::train
