// The subcommands: each registers its flags on a CLI11 app and returns what to run. A command's
// result is the process's exit code (docs/exit-codes.md):
//
//   0  done
//   1  rejected, or nothing gained where that is failure
//   2  the user's mistake
//   3  the machine's fault
//   4  not judged
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace kw {

using Command = std::function<int()>;

Command add_doctor(CLI::App& app);
Command add_optimize(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_record(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_report(CLI::App& app);
Command add_collect(CLI::App& app);
Command add_review(CLI::App& app);
Command add_selftest(CLI::App& app);
Command add_synth(CLI::App& app);
Command add_train(CLI::App& app);
Command add_recipe(CLI::App& app);
Command add_zygote(CLI::App& app);

}  // namespace kw
