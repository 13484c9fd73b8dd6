// A recipe of any kind, from its file to its end. One thread.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "train/run/run_config.h"

namespace kw::train {

struct RecipeRun {
  int64_t step = 0;   // the last step made
  bool done = false;  // false: the run was stopped, and goes on when it is run again
};

// Runs a recipe (recipes/*.toml) in the folder `out`; its key run.kind chooses the kind of run.
// `set` holds assignments KEY=VALUE that replace the recipe's. Throws InputError for what the
// recipe has wrong.
RecipeRun run_recipe(const std::filesystem::path& recipe, const std::vector<std::string>& set,
                     const std::filesystem::path& out, const std::atomic<bool>& stop,
                     const RunProgress& progress);

// Writes a recipe of reinforcement learning for another trainer into the new folder `out`. `target`
// is "verl". `tasks` is the number of tasks to learn from; 0 means as many as the recipe's run
// would read. Throws InputError as above.
void export_recipe(const std::filesystem::path& recipe, const std::vector<std::string>& set,
                   const std::string& target, const std::filesystem::path& out, int64_t tasks,
                   const RunProgress& progress);

// Throws InputError for a recipe that cannot be run; the files that it names are not read.
void check_recipe(const std::filesystem::path& recipe);

// Returns the keys of a kind of recipe with their meanings and defaults.
std::string settings_help(const std::string& kind);

}  // namespace kw::train
