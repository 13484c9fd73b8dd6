#include "cli/common.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "formats/error.h"

namespace kw {

namespace fs = std::filesystem;

void MachineFlags::add_to(CLI::App& app) {
  app.add_option("--backend", backend, "cpu, cuda, or auto (cuda when there is a GPU)")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--device", device, "device to write for when none is there: h200, h100, a100")
      ->capture_default_str();
  app.add_option("--set", set,
                 "NAME=INTEGER: override a module-level constant of the model file, for instance to "
                 "try a smaller shape")
      ->take_all();
  app.add_flag("--no-sandbox", no_sandbox, "run candidates without a sandbox (only code you trust)");
}

std::string MachineFlags::chosen_backend() const {
  if (backend != "auto") return backend;
  return fs::exists("/dev/nvidiactl") ? "cuda" : "cpu";
}

namespace {

WorkerConfig worker_config(const MachineFlags& flags, const std::vector<std::string>& files) {
  WorkerConfig config = default_worker_config();
  config.sandbox = !flags.no_sandbox;
  config.parallel = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
  for (const std::string& file : files) {
    config.visible.push_back(fs::absolute(file).parent_path().string());
  }
  return config;
}

std::map<std::string, int64_t> parse_set(const std::vector<std::string>& items) {
  std::map<std::string, int64_t> out;
  for (const std::string& item : items) {
    const size_t eq = item.find('=');
    size_t used = 0;
    int64_t value = 0;
    try {
      if (eq != std::string::npos && eq > 0) value = std::stoll(item.substr(eq + 1), &used);
    } catch (const std::exception&) {
    }
    if (used == 0 || eq + 1 + used != item.size()) {
      throw InputError("--set " + item + ": expected NAME=INTEGER");
    }
    out[item.substr(0, eq)] = value;
  }
  return out;
}

}  // namespace

Machine::Machine(const MachineFlags& flags, const std::vector<std::string>& files)
    : profile(device_profile(flags.device)),
      pool(worker_config(flags, files)),
      executor(default_executor_config(flags.chosen_backend())) {}

std::string read_text(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError(path.string() + ": is a folder");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError(path.string() + ": cannot be read (does it exist?)");
  return std::move(text).str();
}

RecordRequest request_for_file(const fs::path& path, const std::string& cls,
                               const MachineFlags& flags, const DeviceProfile& profile) {
  RecordRequest request;
  request.text = read_text(path);
  request.file = path.string();
  request.folder = fs::absolute(path).parent_path();
  request.cls = cls;
  request.set = parse_set(flags.set);
  request.profile = profile;
  return request;
}

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "kernelwright-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw EnvironmentError("cannot make a temporary folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string speedup_text(const Interval& interval) {
  char text[96];
  std::snprintf(text, sizeof(text), "%.2fx [%.2f, %.2f]", interval.estimate, interval.lower,
                interval.upper);
  return text;
}

}  // namespace kw
