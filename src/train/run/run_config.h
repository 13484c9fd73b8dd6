// What every kind of run has in common: where it runs, the model that it starts from, the programs
// that it draws. Each kind's configuration derives from this one, and each setting is described
// once. Any thread may call the functions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/data/program_source.h"
#include "train/run/settings.h"

namespace kw::train {

struct RunConfig {
  std::string kind = "sft";  // or "rl"
  int64_t seed = 1;
  std::string device = "auto";  // cpu, cuda
  std::string target = "h200";  // the GPU that kernels are written for
  std::string init;             // the model folder to start from; empty: a new model
  std::string tokenizer;        // tokenizer.json; empty: that of `init`
  int64_t lora_rank = 0;        // 0: all parameters learn
  int64_t lora_alpha = 32;
  int64_t width = 384, layers = 8, heads = 6, kv_heads = 2, inner = 1024, context = 4096;
  std::vector<int64_t> levels = {1};
  std::vector<std::string> operators;  // programs are made of these; empty: CSP-DAG's
  std::vector<int64_t> log_low = {34}, log_high = {35};  // log2 of FLOPs, by window
  int64_t threads = 0;
};
// Describes the keys run.* and model.*, and the keys of data.* that all kinds have.
void describe(Settings& settings, RunConfig& config);
// Throws InputError for settings that contradict each other.
void check(const RunConfig& config);

// Returns how the programs of a split are drawn; the validation split has a separate seed.
ProgramOptions program_options(const RunConfig& config, Split split);

// What a run tells people.
struct RunProgress {
  std::function<void(const std::string&)> line;  // shows a line that stays
  // Shows the run's present state in some lines, which replace those of the call before. May be
  // empty.
  std::function<void(const std::vector<std::string>&)> live = {};
};

}  // namespace kw::train
