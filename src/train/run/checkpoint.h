// The state of a run on disk: RUN/checkpoint-<step>/ with model/ (a Hugging Face folder, or an
// adapter's, and tokenizer.json), adam.safetensors and state.json. A checkpoint is written under
// another name and then renamed, so that it is complete. The last ones are kept.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/json.h"
#include "model/transformer.h"
#include "train/step/optimizer.h"

namespace kw::train {

struct FoundCheckpoint {
  std::filesystem::path folder;
  int64_t step = 0;
  Json state;
};

// Writes a checkpoint and removes all but the last `keep`. Throws EnvironmentError if the disk
// refuses.
void write_checkpoint_of_run(const std::filesystem::path& run, int64_t step,
                             const Transformer& model, const std::string& tokenizer_json,
                             const ParameterOptimizer& optimizer, const Json& state, int keep = 2);
// Returns the last complete checkpoint whose state can be read, or nothing if the run has none.
// Throws InputError if there are checkpoints and none can be read.
std::optional<FoundCheckpoint> last_checkpoint(const std::filesystem::path& run);

}  // namespace kw::train
