// kernelwright-trainer: what `kernelwright train` starts. Runs a recipe; on an interrupt it writes
// a checkpoint and ends, and started again it goes on from there.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "formats/error.h"
#include "train/sft_run.h"

namespace {

std::atomic<bool> g_stop{false};

void on_interrupt(int) { g_stop = true; }

struct Flags {
  std::string recipe, out;
  std::vector<std::string> set;
  bool settings = false;
};

int run(const Flags& flags) {
  kw::SftConfig config;
  kw::Settings settings;
  kw::describe(settings, config);
  if (flags.settings) {
    std::fputs(settings.help().c_str(), stdout);
    return 0;
  }
  std::ifstream in(flags.recipe, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw kw::InputError(flags.recipe + ": cannot be read (is it there?)");
  settings.read(kw::parse_toml(text.str(), flags.recipe), flags.recipe);
  for (const std::string& assignment : flags.set) settings.set(assignment);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const int64_t step = kw::run_sft(
      config, settings, flags.out, g_stop,
      [](const std::string& line) { std::fprintf(stderr, "train: %s\n", line.c_str()); });
  std::fprintf(stderr, "train: %s\n",
               (step < config.steps ? "stopped at step " + std::to_string(step) +
                                          "; the same command goes on from there"
                                    : flags.out + "/checkpoint-" + std::to_string(step) + "/model")
                   .c_str());
  return step < config.steps ? 130 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Trains a model by a recipe");
  app.add_option("recipe", flags.recipe, "recipes/*.toml");
  app.add_option("--out", flags.out, "folder of the run; one that has begun goes on");
  app.add_option("--set", flags.set, "KEY=VALUE: other than in the recipe");
  app.add_flag("--settings", flags.settings,
               "print the keys of recipes, what they mean and default to");
  CLI11_PARSE(app, argc, argv);
  try {
    if (!flags.settings && (flags.recipe.empty() || flags.out.empty())) {
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
