// A run of reinforcement learning, from a recipe to a model's folder. A step draws tasks, samples
// answers to each from the model that is trained, has them judged, and updates the model by an
// objective; from time to time held-out tasks say whether the curriculum goes on. It can be stopped
// at any time and goes on from its last checkpoint; without overlap, exactly.
//
// The model is used by the thread that calls, and by no other.
#pragma once

#include <atomic>
#include <filesystem>

#include "train/data/rl_tasks.h"
#include "train/judge/judge.h"
#include "train/rl/rl_config.h"

namespace kw {

struct RlEnd {
  int64_t step = 0;
  bool done = false;  // the last step, or the curriculum's end; else it was stopped
};

// Learns until the last step, the curriculum's end, or `stop`, when a checkpoint is written.
// InputError for what the recipe has wrong.
RlEnd run_rl(const RlConfig& config, const Settings& settings, const std::filesystem::path& run,
             const std::atomic<bool>& stop, const RunProgress& progress);

// The same with another judge. `pool` records tasks, on the thread `drawing`; `is_fair` as in
// rl_tasks.h.
RlEnd run_rl(const RlConfig& config, const Settings& settings, const std::filesystem::path& run,
             const std::atomic<bool>& stop, const RunProgress& progress, WorkThread& drawing,
             WorkerPool& pool, Judge& judge, const RlTaskSource::IsFair& is_fair);

}  // namespace kw
