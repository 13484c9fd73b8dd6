// compile_baseline() of common.h: runs worker/baseline.py, a trusted process that may use the GPU,
// on the reference only.
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "cli/common.h"
#include "worker/process.h"

namespace kw {
namespace {

constexpr std::chrono::minutes kBuildLimit{5};

// The whole environment: Inductor wants HOME, PATH, a compiler and its caches.
std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  return out;
}

}  // namespace

std::string compile_baseline(const RecordRequest& model, const Task& task,
                             const std::filesystem::path& folder) {
  const WorkerConfig worker = default_worker_config();
  Json names = Json::array();
  for (const StateEntry& entry : task.state) names.push_back(entry.names);
  const auto package = folder / "reference.pt2";
  std::ofstream(folder / "state.json") << names;
  std::ofstream(folder / "reference.py") << model.text;
  ProcessSpec spec;
  spec.argv = {worker.python, worker.worker_dir + "/baseline.py",
               "--model",     (folder / "reference.py").string(),
               "--folder",    model.folder.string(),
               "--class",     model.cls,
               "--state",     (folder / "state.json").string(),
               "--out",       package.string()};
  spec.environment = own_environment();
  OutputTail tail;
  spec.err = tail.write_end();
  Process process = Process::start(spec);
  tail.close_write_end();
  // A full pipe would stop the compiler, so it is emptied while waiting.
  const auto end = std::chrono::steady_clock::now() + kBuildLimit;
  std::optional<int> status;
  while (!status && std::chrono::steady_clock::now() < end) {
    tail.drain();
    status = process.wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
  }
  tail.drain();
  if (status && *status == 0 && std::filesystem::exists(package)) return package.string();
  std::cerr << "note: no torch.compile baseline: "
            << (status ? describe_status(*status) : std::string("took more than five minutes"))
            << "; " << tail.last_lines(2) << "\n";
  return {};
}

}  // namespace kw
