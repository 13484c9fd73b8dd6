// Where a run stands, on disk: RUN/checkpoint-<step>/ with model/ (a Hugging Face folder, or an
// adapter's, and tokenizer.json), adam.safetensors and state.json. Written beside and renamed, so
// that what has the name is whole; the last ones are kept.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/json.h"
#include "model/transformer.h"
#include "train/step/optimizer.h"

namespace kw {

struct FoundCheckpoint {
  std::filesystem::path folder;
  int64_t step = 0;
  Json state;
};

// EnvironmentError where the disk refuses.
void write_checkpoint_of_run(const std::filesystem::path& run, int64_t step,
                             const Transformer& model, const std::string& tokenizer_json,
                             const ParameterOptimizer& optimizer, const Json& state, int keep = 2);
// The last whole one whose state can be read; nothing where there is none. InputError where there
// are some, and none can be read.
std::optional<FoundCheckpoint> last_checkpoint(const std::filesystem::path& run);

}  // namespace kw
