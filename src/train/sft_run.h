// A run of supervised fine-tuning on pairs, from a recipe to a model's folder: it can be stopped at
// any time, and goes on exactly where its last checkpoint stands.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/settings.h"

namespace kw {

struct SftConfig {
  int64_t seed = 1;
  std::string device = "auto";  // cpu, cuda
  std::string target = "h200";  // that kernels are written for
  std::string init;             // model folder to start from; empty: from nothing
  std::string tokenizer;        // tokenizer.json; empty: that of `init`
  int64_t width = 384, layers = 8, heads = 6, kv_heads = 2, inner = 1024, context = 4096;
  std::vector<int64_t> levels = {1};
  int64_t schedules = 4, programs = 512, threads = 0, makers = 1;
  std::vector<int64_t> log_low = {34}, log_high = {35};  // FLOPs, powers of two
  int64_t steps = 1000, tokens = 65536, row = 4096, rows_at_once = 4;
  double rate = 1e-3, last_rate = 1e-4, decay = 0.1, clip = 1, beta2 = 0.95;
  int64_t warmup = 100;
  int64_t validation = 256, evaluate_every = 100, checkpoint_every = 200;
};
void describe(Settings& settings, SftConfig& config);

// Learns until the last step or until `stop`, when a checkpoint is written. `progress` is told a
// line for people. Returns the step it stands at. InputError for what the recipe has wrong.
int64_t run_sft(const SftConfig& config, const Settings& settings, const std::filesystem::path& run,
                const std::atomic<bool>& stop,
                const std::function<void(const std::string&)>& progress);

}  // namespace kw
