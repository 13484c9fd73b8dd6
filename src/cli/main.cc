// The program `kernelwright`. Each subcommand has a file; this one dispatches and turns failures
// into exit codes.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "formats/base/exit_code.h"

namespace {

// The exit code of what a command does, unless it or its output fails.
int ended(const std::function<int()>& command) {
  try {
    const int code = command();
    kw::flush_stdout();
    return code;
  } catch (const std::exception& error) {
    const kw::Failure failure = kw::failure_of(error);
    std::cerr << "error: " << failure.message << "\n";
    if (failure.code == kw::kMachinesFault) {
      std::cerr << "(kernelwright doctor shows what works here)\n";
    }
    return failure.code;
  }
}

struct Subcommand {
  const char* name;
  const char* description;
  kw::Command (*add)(CLI::App& app);
};

// --help lists them in this order.
constexpr Subcommand kSubcommands[] = {
    {"doctor", "What works on this machine, and the fix for what does not", kw::add_doctor},
    {"optimize", "Turn MODEL.py into a faster, verified program", kw::add_optimize},
    {"verify", "Judge CANDIDATE.py's ModelNew against MODEL.py's Model", kw::add_verify},
    {"record", "Show a file's program, and keep it as a bundle (docs/formats/task.md)",
     kw::add_record},
    {"eval", "Judge what a policy writes for many models", kw::add_eval},
    {"report", "A page on a run of eval, and comparisons of runs", kw::add_report},
    {"review", "A model's opinion on what a run of eval judged", kw::add_review},
    {"collect", "Verified answers of eval's runs, as rows to learn from", kw::add_collect},
    {"synth", "Draw PyTorch programs to write kernels for", kw::add_synth},
    {"train", "Train a model that writes kernels, by a recipe (docs/learning.md)", kw::add_train},
    {"recipe", "Write a recipe for another trainer", kw::add_recipe},
    {"selftest", "Judge candidates whose label is known: false accepts and false rejects",
     kw::add_selftest},
    {"zygote", "Keep an interpreter ready, so that commands start sooner", kw::add_zygote},
};

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  if (const int code = ended([] {
        kw::open_standard_streams();
        return kw::kDone;
      })) {
    return code;
  }
  CLI::App app(
      "Kernelwright turns PyTorch programs into verified, faster Triton programs.\n\n"
      "  kernelwright optimize model.py          a faster model.py, with proof\n"
      "  kernelwright verify model.py mine.py    is my kernel right, and faster?\n"
      "  kernelwright doctor                     what works on this machine\n\n"
      "A model file defines `Model`, `get_inputs()` and `get_init_inputs()`; a candidate defines\n"
      "`ModelNew`. Exit codes: 0 done, 1 rejected, 2 your mistake, 3 the machine's fault, 4 not\n"
      "judged.",
      "kernelwright");
  app.require_subcommand(1);
  app.set_version_flag("--version", "kernelwright 0.1.0");
  std::vector<std::pair<CLI::App*, kw::Command>> commands;
  for (const Subcommand& each : kSubcommands) {
    CLI::App* sub = app.add_subcommand(each.name, each.description);
    commands.emplace_back(sub, each.add(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return ended([&] { return app.exit(asked); });
  } catch (const CLI::ParseError& error) {
    const bool known = std::ranges::any_of(kSubcommands, [&](const Subcommand& each) {
      return argc > 1 && std::string_view(each.name) == argv[1];
    });
    if (argc > 1 && std::string_view(argv[1]) == "judge") {
      std::cerr
          << "error: kernelwright judge is now kernelwright review, and its flags --judge-... "
             "are --review-...\n";
      return 2;
    }
    if (argc > 1 && argv[1][0] != '-' && !known) {
      std::cerr << "error: there is no subcommand " << argv[1] << " (kernelwright --help)\n";
      return 2;
    }
    app.exit(error, std::cerr, std::cerr);
    return 2;
  }
  for (const auto& [sub, command] : commands) {
    if (!sub->parsed()) continue;
    return ended([&command] {
      kw::check_folders();
      return command();
    });
  }
  return kw::kUsersMistake;
}
