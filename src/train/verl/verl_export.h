// `kernelwright recipe export --to verl`: writes a folder with which verl trains by a recipe, with
// rewards from this program's verifier (docs/learning.md). One thread.
#pragma once

#include <filesystem>
#include <string>

#include "train/rl/rl_config.h"

namespace kw::train {

struct VerlExport {
  std::filesystem::path recipe, out;
  std::string objective;  // the recipe's, if another was set in its place; else empty
  int64_t tasks = 0;      // tasks to learn from; 0: as many as the recipe's run would read
};

// Writes the folder, whole or not at all (formats/output.h), and reports which settings have no
// place in verl. Throws InputError, before anything is drawn, for an objective that verl lacks or a
// folder that has something in it.
void export_to_verl(const RlConfig& config, const Settings& settings, const VerlExport& what,
                    const RunProgress& progress);

}  // namespace kw::train
