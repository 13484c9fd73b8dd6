// kernelwright-trainer: the program that holds models, as the front program is free of libtorch.
// `train` runs a recipe (`kernelwright train` starts it). `export` writes a recipe for another
// trainer (`kernelwright recipe export` starts it). `serve` answers requests (`--policy local`
// starts it).
#include <c10/util/Exception.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "formats/base/error.h"
#include "formats/base/exit_code.h"
#include "train/serve/serve.h"
#include "train/tools/live_view.h"
#include "train/tools/run.h"

namespace kw::train {
namespace {

std::atomic<bool> g_stop{false};

// Asks the run to stop. A second interrupt ends the program at once.
void on_interrupt(int signal) {
  g_stop = true;
  constexpr char text[] =
      "\nstopping: a checkpoint is written after this step; once more: at once, without one\n";
  if (::write(STDERR_FILENO, text, sizeof text - 1) < 0) {
  }
  std::signal(signal, SIG_DFL);
}

struct TrainFlags {
  std::string recipe, out, settings;
  std::vector<std::string> set;
};

void add_train(CLI::App& app, TrainFlags& flags) {
  app.add_option("recipe", flags.recipe, "recipes/*.toml");
  app.add_option("--out", flags.out, "folder of the run; one that has begun goes on");
  app.add_option("--set", flags.set, "KEY=VALUE: other than in the recipe")
      ->allow_extra_args(false);
  app.add_option("--settings", flags.settings,
                 "print the keys of recipes of a kind (sft, rl), what they mean and default to");
}

// Runs a recipe. On an interrupt it writes a checkpoint, from which the same command goes on.
int run_train(const TrainFlags& flags) {
  if (!flags.settings.empty()) {
    std::fputs(settings_help(flags.settings).c_str(), stdout);
    return 0;
  }
  if (flags.recipe.empty() || flags.out.empty()) {
    throw InputError("a recipe and --out FOLDER are needed");
  }
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  LiveView view(stderr, ::isatty(STDERR_FILENO) != 0, "train");
  RunProgress progress{[&](const std::string& line) { view.line(line); }};
  if (view.is_terminal()) progress.live = [&](const auto& lines) { view.live(lines); };
  const RecipeRun end = run_recipe(flags.recipe, flags.set, flags.out, g_stop, progress);
  const std::string step = std::to_string(end.step);
  view.line(end.done ? flags.out + "/checkpoint-" + step + "/model"
                     : "stopped at step " + step + "; the same command goes on from there");
  return end.done ? 0 : 130;
}

struct ExportFlags {
  std::string recipe, to, out;
  std::vector<std::string> set;
  int64_t tasks = 0;
};

void add_export(CLI::App& app, ExportFlags& flags) {
  app.add_option("recipe", flags.recipe, "recipes/*.toml")->required();
  app.add_option("--to", flags.to, "verl")->required();
  app.add_option("--out", flags.out, "folder to write")->required();
  app.add_option("--set", flags.set, "KEY=VALUE: other than in the recipe")
      ->allow_extra_args(false);
  app.add_option("--tasks", flags.tasks, "to learn from");
}

int run_export(const ExportFlags& flags) {
  LiveView view(stderr, ::isatty(STDERR_FILENO) != 0, "export");
  const RunProgress progress{[&](const std::string& line) { view.line(line); }};
  export_recipe(flags.recipe, flags.set, flags.to, flags.out, flags.tasks, progress);
  return 0;
}

void add_serve(CLI::App& app, ServeOptions& options) {
  app.add_option("--model", options.model, "Hugging Face folder with tokenizer.json")->required();
  app.add_option("--socket", options.socket, "where to listen: a path that is free")->required();
  app.add_option("--rows", options.answers.rows, "answers that are drawn at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--context", options.answers.context,
                 "tokens of a task and its answer (default: the model's, at most 8192)")
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("--device", options.answers.device, "auto: a GPU where there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.footer("Ends when its stdin ends, and on SIGTERM.");
}

}  // namespace

}  // namespace kw::train

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that is gone is told (flush_stdout)
  CLI::App app("Trains models, and answers for them", "kernelwright-trainer");
  app.require_subcommand(1);
  kw::train::TrainFlags training;
  kw::train::ExportFlags exporting;
  kw::train::ServeOptions serving;
  CLI::App* train = app.add_subcommand("train", "Train a model by a recipe");
  kw::train::add_train(*train, training);
  CLI::App* export_one = app.add_subcommand("export", "Write a recipe for another trainer");
  kw::train::add_export(*export_one, exporting);
  CLI::App* serve =
      app.add_subcommand("serve", "Answer POST /v1/chat/completions on a Unix-domain socket");
  kw::train::add_serve(*serve, serving);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  const char* name = train->parsed()        ? "train"
                     : export_one->parsed() ? "export"
                                            : "kernelwright-trainer";
  try {
    kw::check_folders();
    int code = kw::kDone;
    if (train->parsed()) {
      code = kw::train::run_train(training);
    } else if (export_one->parsed()) {
      code = kw::train::run_export(exporting);
    } else {
      kw::train::serve(serving, 0);
    }
    kw::flush_stdout();
    return code;
  } catch (const c10::Error& error) {  // out of memory, mostly
    std::fprintf(stderr, "%s: %s\n", name, error.what_without_backtrace());
    return kw::kMachinesFault;
  } catch (const std::exception& error) {
    const kw::Failure failure = kw::failure_of(error);
    std::fprintf(stderr, "%s: %s\n", name, failure.message.c_str());
    return failure.code;
  }
}
