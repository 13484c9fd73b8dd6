// What a run starts from, loaded once: the tokenizer, the model that learns, the model that it is
// held to, and the optimizer. They come from model.init and from the run's last checkpoint.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "formats/tokens/tokenizer.h"
#include "model/transformer.h"
#include "train/data/answer_format.h"
#include "train/run/checkpoint.h"
#include "train/run/run_config.h"
#include "train/step/adamw.h"

namespace kw::train {

// Returns whether a run that goes on reads model.init again: for an adapter's base, or for the
// reference model (`has_reference`). Without either, its checkpoints hold all that it needs.
bool reads_start_again(const RunConfig& config, bool has_reference);

// Returns a warning about model.init to show before the run begins, or an empty string. Throws
// InputError if a model is needed and that folder holds none; the message names a folder nearby
// that does.
std::string check_start(const RunConfig& config, bool has_reference,
                        const std::filesystem::path& run);

// Returns the fingerprint of model.init if a run reads it again whenever it goes on, else an empty
// string. Reads every byte of that model.
std::string fingerprint_of_start(const RunConfig& config, bool has_reference);

// Pinned, as `format` borrows `tokenizer`.
struct RunStart {
  const std::string tokenizer_json;  // the tokenizer's file, which goes into checkpoints
  const Tokenizer tokenizer;
  const AnswerFormat format{tokenizer};
  const Transformer model;  // learns; the optimizer writes to its parameters
  // The model as it was before the run's first step, if the run has one; it stays as it is.
  const std::optional<Transformer> reference;
  const std::unique_ptr<ParameterOptimizer> optimizer;
};

struct StartOptions {
  AdamOptions adam = {};
  bool has_reference = false;
};

// Loads what a run starts from. With a checkpoint, the tokenizer, the model and the optimizer's
// state are the checkpoint's; only an adapter's base and the reference come from model.init again.
// Throws InputError for what the recipe has wrong or a file that cannot be read.
RunStart load_start(const RunConfig& config, const StartOptions& options,
                    const std::optional<FoundCheckpoint>& checkpoint);

}  // namespace kw::train
