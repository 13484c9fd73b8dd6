// kernelwright recipe export RECIPE.toml --to verl --out DIR: becomes `kernelwright-trainer
// export`, which knows what recipes say.
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/support/common.h"

namespace kw {
namespace {

struct RecipeFlags {
  std::string recipe, to, out;
  std::vector<std::string> set;
  int64_t tasks = 0;
};

int run_recipe(const RecipeFlags& flags) {
  std::vector<std::string> arguments = {
      "export", flags.recipe, "--to",    flags.to,
      "--out",  flags.out,    "--tasks", std::to_string(flags.tasks)};
  for (const std::string& value : flags.set) arguments.insert(arguments.end(), {"--set", value});
  become_trainer(std::move(arguments));
}

}  // namespace

Command add_recipe(CLI::App& app) {
  auto flags = std::make_shared<RecipeFlags>();
  app.require_subcommand(1);
  CLI::App* sub = app.add_subcommand("export", "Write a recipe, with tasks and rewards, for verl");
  sub->add_option("recipe", flags->recipe, "a recipe of reinforcement learning, as TOML")
      ->required();
  sub->add_option("--to", flags->to, "the trainer: verl")
      ->required()
      ->check(CLI::IsMember({"verl"}));
  sub->add_option("--out", flags->out, "a new folder, or an empty one")->required();
  sub->add_option("--set", flags->set,
                  "KEY=VALUE: other than in the recipe, such as rl.objective=grpo where verl does "
                  "not have the recipe's")
      ->allow_extra_args(false);
  sub->add_option("--tasks", flags->tasks,
                  "different tasks to learn from (default: data.tasks, or one for each prompt of "
                  "the run: rl.steps times rl.prompts)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  sub->footer(
      "The folder has verl.yaml and run.sh, tasks that are drawn and examined as kernelwright "
      "synth\n"
      "does (minutes for a thousand on few cores; --set data.hygiene=false takes them as they are\n"
      "drawn), reward.py, by which verl asks the verifier, and README.md, which says what became "
      "of\n"
      "each setting. What has no place in verl is named; an objective that it lacks is refused.");
  return [flags] { return run_recipe(*flags); };
}

}  // namespace kw
