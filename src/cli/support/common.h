// What several subcommands share: the flags that say where things run, and the processes that they
// run in.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

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

  void add_to(CLI::App& app);
  // All but --set, for what reads no model file.
  void add_backend_to(CLI::App& app);
  // --executors, of what judges many candidates.
  void add_executors_to(CLI::App& app);
  // "cuda" when asked for or when there is a GPU, else "cpu".
  std::string chosen_backend() const;
  // What candidates are written for and judged by: with "auto" the GPU that is there. Where its
  // profile is not known, or none is there, an H200; says so on stderr in the first case.
  DeviceProfile profile() const;
  // Returns the session of a command. The folders of `files` stay readable inside the sandbox.
  SessionConfig session_config(const std::vector<std::string>& files) const;
};

// The processes of a command.
struct Machine : Session {
  Machine(const MachineFlags& flags, const std::vector<std::string>& files)
      : Session(flags.session_config(files)) {}
};

// Seconds of a user's "60s", "5m" or "1h"; InputError with the flag's name for what is none.
double parse_seconds(const std::string& flag, const std::string& text);

// EnvironmentError with the path when it cannot be written.
void write_file(const std::filesystem::path& path, const std::string& text);

// --schedules: a folder of tables of schedules (docs/schedules.md), "none", or "" for the one that
// comes with the program; and the table in it for a device, empty when there is none. Where times
// are modelled (backend "cpu"), "" is none: measured times of kernels would stand beside modelled
// ones of PyTorch's.
void add_schedules_flag(CLI::App& app, std::string& value);
teacher::ScheduleTable schedule_table(const std::string& value, const DeviceProfile& profile,
                                      const std::string& backend);

// --trials; 0 stays where it is not given (VerifyOptions).
void add_trials_flag(CLI::App& app, int& value);

// Becomes `kernelwright-trainer ARGUMENTS`, as this program is without libtorch; exit codes and
// interrupts are the trainer's from here on.
[[noreturn]] void become_trainer(std::vector<std::string> arguments);

// "1.43x [1.41, 1.45]".
std::string speedup_text(const Interval& interval);

}  // namespace kw
