// kernelwright: one file per subcommand; this one only dispatches and maps failures to exit codes.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <iterator>
#include <string_view>

#include "cli/commands.h"
#include "formats/base/error.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
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
  const std::pair<CLI::App*, kw::Command> commands[] = {
      [&] {
        auto* sub = app.add_subcommand("doctor",
                                       "What works on this machine, and the fix for what does not");
        return std::pair{sub, kw::add_doctor(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand("optimize", "Turn MODEL.py into a faster, verified program");
        return std::pair{sub, kw::add_optimize(*sub)};
      }(),
      [&] {
        auto* sub =
            app.add_subcommand("verify", "Judge CANDIDATE.py's ModelNew against MODEL.py's Model");
        return std::pair{sub, kw::add_verify(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand(
            "record", "Show a file's program, and keep it as a bundle (docs/formats/task.md)");
        return std::pair{sub, kw::add_record(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand("eval", "Judge what a policy writes for many models");
        return std::pair{sub, kw::add_eval(*sub)};
      }(),
      [&] {
        auto* sub =
            app.add_subcommand("report", "A page on a run of eval, and comparisons of runs");
        return std::pair{sub, kw::add_report(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand("review", "A model's opinion on what a run of eval judged");
        return std::pair{sub, kw::add_review(*sub)};
      }(),
      [&] {
        auto* sub =
            app.add_subcommand("collect", "Verified answers of eval's runs, as rows to learn from");
        return std::pair{sub, kw::add_collect(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand("synth", "Draw PyTorch programs to write kernels for");
        return std::pair{sub, kw::add_synth(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand(
            "train", "Train a model that writes kernels, by a recipe (docs/learning.md)");
        return std::pair{sub, kw::add_train(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand("recipe", "Write a recipe for another trainer");
        return std::pair{sub, kw::add_recipe(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand(
            "selftest", "Judge candidates whose label is known: false accepts and false rejects");
        return std::pair{sub, kw::add_selftest(*sub)};
      }(),
      [&] {
        auto* sub = app.add_subcommand("zygote",
                                       "Keep an interpreter ready, so that commands start sooner");
        return std::pair{sub, kw::add_zygote(*sub)};
      }(),
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion& version) {
    return app.exit(version);
  } catch (const CLI::ParseError& error) {
    const bool known = std::any_of(std::begin(commands), std::end(commands), [&](const auto& item) {
      return argc > 1 && item.first->get_name() == argv[1];
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
    try {
      return command();
    } catch (const kw::InputError& error) {
      std::cerr << "error: " << error.what() << "\n";
      return 2;
    } catch (const kw::EnvironmentError& error) {
      std::cerr << "error: " << error.what() << "\n(kernelwright doctor shows what works here)\n";
      return 3;
    } catch (const std::exception& error) {
      std::cerr << "internal error: " << error.what() << "\n";
      return 3;
    }
  }
  return 2;
}
