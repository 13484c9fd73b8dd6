// `kernelwright recipe export --to verl`: a folder with which verl trains by a recipe, rewarded by
// this program's verifier (docs/learning.md). One thread.
#pragma once

#include <filesystem>
#include <string>

#include "train/rl/rl_config.h"

namespace kw {

struct VerlExport {
  std::filesystem::path recipe, out;
  std::string objective;  // the recipe's own, where another was set in its place
  int64_t tasks = 0;      // to learn from; 0: as many as the recipe's run would read
};

// Writes the folder, and says what has no place in verl. InputError for a folder that cannot be
// written or has something in it, and for an objective that verl lacks: before anything is drawn.
void export_to_verl(const RlConfig& config, const Settings& settings, const VerlExport& what,
                    const RunProgress& progress);

}  // namespace kw
