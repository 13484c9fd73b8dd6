// What every kind of run has in common: where it runs, the model that it starts from, the programs
// that it draws. Each kind's configuration is one of these and more, and each setting is described
// once. Values belong to their owner; functions may be called by any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/tokens/tokenizer.h"
#include "model/transformer.h"
#include "train/data/program_source.h"
#include "train/run/checkpoint.h"
#include "train/run/settings.h"
#include "train/step/adamw.h"

namespace kw {

struct RunConfig {
  std::string kind = "sft";  // or "rl"
  int64_t seed = 1;
  std::string device = "auto";  // cpu, cuda
  std::string target = "h200";  // that kernels are written for
  std::string init;             // model folder to start from; empty: from nothing
  std::string tokenizer;        // tokenizer.json; empty: that of `init`
  int64_t lora_rank = 0;        // 0: all parameters learn
  int64_t lora_alpha = 32;
  int64_t width = 384, layers = 8, heads = 6, kv_heads = 2, inner = 1024, context = 4096;
  std::vector<int64_t> levels = {1};
  std::vector<std::string> operators;  // that programs are made of; none: CSP-DAG's
  std::vector<int64_t> log_low = {34}, log_high = {35};  // FLOPs, powers of two; by window
  int64_t threads = 0;
};
// run.*, model.* and what kinds share of data.*.
void describe(Settings& settings, RunConfig& config);
// InputError for settings that do not go together.
void check(const RunConfig& config);

// Whether a run that goes on reads model.init again: for an adapter's base, or for what holds the
// model back (`has_reference`). Without, its checkpoints have all of it.
bool reads_start_again(const RunConfig& config, bool has_reference);
// What people are told of model.init before `run` reads it; empty where there is nothing.
// InputError where it is no model's folder, with one that may be meant.
std::string check_start(const RunConfig& config, bool has_reference,
                        const std::filesystem::path& run);

// A tokenizer and the file that it is from, which goes into checkpoints.
struct RunTokenizer {
  std::string json;
  Tokenizer tokenizer;
};
// That of a checkpoint; without one, the recipe's. InputError where it cannot be read.
RunTokenizer read_tokenizer(const RunConfig& config, const std::optional<FoundCheckpoint>& from);

// The model that a run starts from. InputError for what the recipe has wrong.
Transformer make_start(const RunConfig& config, const Tokenizer& tokenizer, TokenId end);
// The model that learns: that of a checkpoint; without one, the one that the run starts from; for
// an adapter its base, which the optimizer then puts the factors into.
// InputError likewise.
Transformer make_model(const RunConfig& config, const Tokenizer& tokenizer, TokenId end,
                       const std::optional<FoundCheckpoint>& from);
// What makes the model's steps, from where the checkpoint stands; it writes to the model.
std::unique_ptr<ParameterOptimizer> make_optimizer(const RunConfig& config,
                                                   const Transformer& model,
                                                   const AdamOptions& options,
                                                   const std::optional<FoundCheckpoint>& from);

// Fingerprint of model.init, where a run reads it again. Else empty.
std::string start_of(const RunConfig& config, bool has_reference);

// Of the programs that a split has; those of the validation split have a seed of their own.
ProgramOptions program_options(const RunConfig& config, Split split);

// What a run tells people.
struct RunProgress {
  std::function<void(const std::string&)> line;  // that stays
  // What is true now, some lines; each call stands instead of the one before. May be empty.
  std::function<void(const std::vector<std::string>&)> live = {};
};

}  // namespace kw
