// What several subcommands share: the flags that say where things run, and the processes that run
// them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/support/flag_checks.h"
#include "runtime/sanitizer.h"
#include "runtime/session.h"
#include "teacher/schedule/schedule_table.h"
#include "verify/verifier.h"
#include "worker/jobs.h"

namespace kw {

// Flags that every judging subcommand takes.
struct MachineFlags {
  std::string backend = "auto";
  std::string device = "auto";
  std::vector<std::string> set;
  bool no_sandbox = false;
  int executors = 1;
  // The command's flags that limit time, by what they limit (WorkerConfig, and "trial").
  std::map<std::string, std::string> limit_flags;

  void add_to(CLI::App& app);
  // Adds all but --set, for commands that read no model file.
  void add_backend_to(CLI::App& app);
  // Adds --executors, for commands that judge many candidates.
  void add_executors_to(CLI::App& app);
  // Returns "cuda" if it is asked for or there is a GPU, else "cpu".
  std::string chosen_backend() const;
  // Returns the device that candidates are written for and judged by: with "auto" this machine's
  // GPU. Without a GPU it is an H200; also if the GPU's profile is not known, which is said on
  // stderr.
  DeviceProfile profile() const;
  // Returns the session of a command. The folders of `files`, and the packages that they are in,
  // stay readable inside the sandbox.
  SessionConfig session_config(const std::vector<std::string>& files) const;
};

// The processes of a command.
struct Machine : Session {
  Machine(const MachineFlags& flags, const std::vector<std::string>& files)
      : Session(flags.session_config(files)) {}
};

// Adds --schedules: a folder of tables of schedules (docs/schedules.md), "none", or "" for the
// folder that comes with the program.
void add_schedules_flag(CLI::App& app, std::string& value);
// Returns the device's table in the folder that --schedules names; empty if there is none. If times
// are modelled (backend "cpu"), "" means none: measured times of kernels cannot be compared with
// modelled times of PyTorch's.
teacher::ScheduleTable schedule_table(const std::string& value, const DeviceProfile& profile,
                                      const std::string& backend);

// Adds --trials; the value stays 0 if it is not given (VerifyOptions).
void add_trials_flag(CLI::App& app, int& value);

// Adds --sanitize: whether accepted candidates run under compute-sanitizer.
void add_sanitize_flag(CLI::App& app, bool& value);
// Returns what runs them; null if the flag is not given. Throws InputError without
// compute-sanitizer or GPU.
std::unique_ptr<Sanitizer> sanitizer_for(bool sanitize, const ExecutorConfig& executor);

// Adds --coverage, "hybrid" or "pure". `help` says what they mean for the command.
void add_coverage_flag(
    CLI::App& app, std::string& value,
    const std::string& help = "hybrid: some PyTorch may be left; pure: none that computes");

// Replaces this process by `kernelwright-trainer ARGUMENTS`, as this program has no libtorch. Exit
// codes and interrupts are the trainer's from then on.
[[noreturn]] void become_trainer(std::vector<std::string> arguments);

// Returns "1.43x [1.41, 1.45]".
std::string speedup_text(const Interval& interval);

}  // namespace kw
