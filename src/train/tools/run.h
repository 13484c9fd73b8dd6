// A recipe of any kind, from its file to its end. One thread.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "train/run/run_config.h"

namespace kw {

struct RecipeRun {
  int64_t step = 0;   // that it stands at
  bool done = false;  // else it was stopped, and goes on when it is run again
};

// Runs a recipe (recipes/*.toml) in the folder `out`; its key run.kind says what is done. `set` has
// KEY=VALUE, other than in the recipe. InputError for what the recipe has wrong.
RecipeRun run_recipe(const std::filesystem::path& recipe, const std::vector<std::string>& set,
                     const std::filesystem::path& out, const std::atomic<bool>& stop,
                     const RunProgress& progress);

// Writes a recipe of reinforcement learning for another trainer, into a folder of its own. `target`
// is "verl"; `tasks` to learn from, 0: as many as the recipe's run would read. InputError as above.
void export_recipe(const std::filesystem::path& recipe, const std::vector<std::string>& set,
                   const std::string& target, const std::filesystem::path& out, int64_t tasks,
                   const RunProgress& progress);

// Whether a recipe can be run, but for the files it names: InputError as above.
void check_recipe(const std::filesystem::path& recipe);

// The keys of recipes of a kind, what they mean and default to.
std::string settings_help(const std::string& kind);

}  // namespace kw
