#include "cli/support/common.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "formats/base/error.h"
#include "policy/model_server.h"
#include "worker/model_file.h"

namespace kw {

namespace fs = std::filesystem;

void MachineFlags::add_backend_to(CLI::App& app) {
  app.add_option("--backend", backend, "cpu, cuda, or auto (cuda when there is a GPU)")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option(
         "--device", device,
         "device to write for: h200, h100, a100, or auto (the GPU that is there, else h200)")
      ->capture_default_str();
  app.add_flag("--no-sandbox", no_sandbox,
               "run candidates without a sandbox (only code you trust)");
}

void MachineFlags::add_to(CLI::App& app) {
  add_backend_to(app);
  app.add_option(
         "--set", set,
         "NAME=INTEGER: override a module-level constant of the model file, for instance to "
         "try a smaller shape")
      ->take_all()
      ->allow_extra_args(false);  // a file may follow
}

void MachineFlags::add_executors_to(CLI::App& app) {
  app.add_option("--executors", executors,
                 "processes whose trials run side by side; what is timed has the device alone")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

std::string MachineFlags::chosen_backend() const {
  if (backend != "auto") return backend;
  return fs::exists("/dev/nvidiactl") ? "cuda" : "cpu";
}

DeviceProfile MachineFlags::profile() const {
  if (device != "auto") return device_profile(device);
  const std::string gpu = chosen_backend() == "cuda" ? name_of_gpu() : "";
  if (gpu.empty()) return device_profile("h200");
  if (const auto known = profile_of_gpu(gpu)) return *known;
  std::fprintf(stderr, "no profile of an %s: kernels are written for an H200 (--device)\n",
               gpu.c_str());
  return device_profile("h200");
}

SessionConfig MachineFlags::session_config(const std::vector<std::string>& files) const {
  SessionConfig config = default_session_config(profile(), chosen_backend());
  config.executor.processes = executors;
  config.workers.sandbox = !no_sandbox;
  config.workers.limit_flags = limit_flags;
  if (const auto flag = limit_flags.find("trial"); flag != limit_flags.end()) {
    config.executor.limit_flag = flag->second;
  }
  for (const std::string& file : files) {
    if (file.empty()) throw InputError("a file's name is empty");
    config.workers.visible.push_back(package_root(fs::absolute(file).parent_path()).string());
  }
  return config;
}

void add_trials_flag(CLI::App& app, int& value) {
  app.add_option(
         "--trials", value,
         "fresh input sets, before the varied ones (default: 5; 2 where every output has 4096 "
         "elements, 10 where one has fewer than 64)")
      ->check(CLI::Range(1, 100));
}

void add_sanitize_flag(CLI::App& app, bool& value) {
  app.add_flag("--sanitize", value,
               "run what is accepted once more under compute-sanitizer, on a GPU: accesses out of "
               "bounds reject it, and reads of what nobody wrote are told");
}

std::unique_ptr<Sanitizer> sanitizer_for(bool sanitize, const ExecutorConfig& executor) {
  return sanitize ? std::make_unique<Sanitizer>(executor) : nullptr;
}

void add_coverage_flag(CLI::App& app, std::string& value, const std::string& help) {
  app.add_option("--coverage", value, help)
      ->check(CLI::IsMember({"hybrid", "pure"}))
      ->capture_default_str();
}

void add_schedules_flag(CLI::App& app, std::string& value) {
  app.add_option("--schedules", value,
                 "folder of measured tables of schedules, or none (default: the program's own on a "
                 "GPU, none on the CPU)");
}

teacher::ScheduleTable schedule_table(const std::string& value, const DeviceProfile& profile,
                                      const std::string& backend) {
  if (value == "none") return {};
  if (value.empty()) {
    if (backend == "cpu") return {};
    return teacher::ScheduleTable::of_device(teacher::default_schedule_folder(), profile);
  }
  if (!fs::is_directory(value))
    throw InputError("--schedules " + value + ": there is no such folder");
  return teacher::ScheduleTable::of_device(value, profile);
}

void become_trainer(std::vector<std::string> arguments) {
  const std::string binary = trainer_binary();
  arguments.insert(arguments.begin(), binary);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // what this program ignores, the next one would too
  ::execv(binary.c_str(), pointers.data());
  throw EnvironmentError("cannot execute " + binary + ": " + std::strerror(errno));
}

std::string speedup_text(const Interval& interval) {
  char text[96];
  std::snprintf(text, sizeof(text), "%.2fx [%.2f, %.2f]", interval.estimate, interval.lower,
                interval.upper);
  return text;
}

}  // namespace kw
