// kernelwright-trainer: what `kernelwright train` starts. Runs a recipe; on an interrupt it writes
// a checkpoint and ends, and started again it goes on from there.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "formats/error.h"
#include "train/live_view.h"
#include "train/run.h"

namespace {

std::atomic<bool> g_stop{false};

void on_interrupt(int) { g_stop = true; }

struct Flags {
  std::string recipe, out, settings;
  std::vector<std::string> set;
};

int run(const Flags& flags) {
  if (!flags.settings.empty()) {
    std::fputs(kw::settings_help(flags.settings).c_str(), stdout);
    return 0;
  }
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  kw::LiveView view(stderr, ::isatty(STDERR_FILENO) != 0, "train");
  kw::RunProgress progress{[&](const std::string& line) { view.line(line); }};
  if (view.is_terminal()) progress.live = [&](const auto& lines) { view.live(lines); };
  const kw::RecipeRun end = kw::run_recipe(flags.recipe, flags.set, flags.out, g_stop, progress);
  const std::string step = std::to_string(end.step);
  view.line(end.done ? flags.out + "/checkpoint-" + step + "/model"
                     : "stopped at step " + step + "; the same command goes on from there");
  return end.done ? 0 : 130;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Trains a model by a recipe");
  app.add_option("recipe", flags.recipe, "recipes/*.toml");
  app.add_option("--out", flags.out, "folder of the run; one that has begun goes on");
  app.add_option("--set", flags.set, "KEY=VALUE: other than in the recipe");
  app.add_option("--settings", flags.settings,
                 "print the keys of recipes of a kind (sft, rl), what they mean and default to");
  CLI11_PARSE(app, argc, argv);
  try {
    if (flags.settings.empty() && (flags.recipe.empty() || flags.out.empty())) {
      throw kw::InputError("a recipe and --out FOLDER are needed");
    }
    return run(flags);
  } catch (const kw::InputError& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 2;
  } catch (const kw::EnvironmentError& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 3;
  }
}
