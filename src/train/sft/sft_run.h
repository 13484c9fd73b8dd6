// A run of supervised fine-tuning, on the teacher's pairs or on rows of a file, from a recipe to a
// model's folder. It can be stopped at any time, and goes on exactly from its last checkpoint.
#pragma once

#include <atomic>
#include <filesystem>

#include "train/run/run_config.h"

namespace kw::train {

struct SftConfig : RunConfig {
  int64_t schedules = 4, programs = 512, makers = 1;
  std::string rows;          // file to learn from; empty: the teacher's pairs
  std::string file = "any";  // "same": of the rows, those whose code does what was judged
  int64_t steps = 1000, tokens = 65536, row = 4096, rows_at_once = 4;
  int64_t devices = 1;
  double rate = 1e-3, last_rate = 1e-4, decay = 0.1, clip = 1, beta2 = 0.95;
  int64_t warmup = 100;
  int64_t validation = 256, evaluate_every = 100, checkpoint_every = 200;
};
void describe(Settings& settings, SftConfig& config);
// Throws InputError for settings that contradict each other.
void check(const SftConfig& config);

// Learns until the last step or until `stop`, and writes a checkpoint then. Returns the last step
// made. Throws InputError for what the recipe has wrong.
int64_t run_sft(const SftConfig& config, const Settings& settings, const std::filesystem::path& run,
                const std::atomic<bool>& stop, const RunProgress& progress);

}  // namespace kw::train
