// kernelwright train RECIPE.toml: becomes `kernelwright-trainer train`.
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/support/common.h"

namespace kw {
namespace {

struct TrainFlags {
  std::string recipe, out, settings;
  std::vector<std::string> set;
};

int run_train(const TrainFlags& flags) {
  std::vector<std::string> arguments = {"train"};
  if (!flags.recipe.empty()) arguments.push_back(flags.recipe);
  if (!flags.out.empty()) arguments.insert(arguments.end(), {"--out", flags.out});
  for (const std::string& value : flags.set) arguments.insert(arguments.end(), {"--set", value});
  if (!flags.settings.empty()) {
    arguments.insert(arguments.end(), {"--settings", flags.settings});
  }
  become_trainer(std::move(arguments));
}

}  // namespace

Command add_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  app.add_option("recipe", flags->recipe, "what to do, as TOML");
  app.add_option("--out", flags->out, "folder of the run; one that has begun goes on");
  app.add_option("--set", flags->set, "KEY=VALUE: other than in the recipe, such as sft.steps=100")
      ->allow_extra_args(false);
  app.add_option("--settings", flags->settings,
                 "print the keys of recipes of a kind (sft, rl), what they mean and default to");
  app.footer(
      "  kernelwright train recipes/smoke-sft.toml --out runs/smoke-sft    minutes on two cores\n"
      "  kernelwright train recipes/smoke-rl.toml --out runs/smoke-rl      goes on from its model\n"
      "  kernelwright train --settings rl\n\n"
      "Ctrl-C writes a checkpoint, from which the same command goes on; with --set sft.steps=N "
      "(or\n"
      "rl.steps=N) a run that is done is made longer. Models are left in\n"
      "RUN/checkpoint-STEP/model; eval and optimize take them by --policy local --model FOLDER.");
  return [flags] { return run_train(*flags); };
}

}  // namespace kw
