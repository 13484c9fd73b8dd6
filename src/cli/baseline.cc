// compile_baselines() of common.h: runs worker/baseline.py, a trusted process that may use the GPU,
// on the reference only.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "cli/common.h"
#include "worker/process.h"

namespace kw {
namespace {

constexpr std::chrono::minutes kBuildLimit{5};

// The whole environment: Inductor wants HOME, PATH, a compiler and its caches.
std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  // A model has few kernels: starting a pool of compiling processes takes longer than they do.
  out.emplace_back("TORCHINDUCTOR_COMPILE_THREADS=1");
  return out;
}

// One build under way.
class Build {
 public:
  // Its files get names that start with `stem`.
  Build(const BaselineRequest& request, const std::filesystem::path& stem)
      : package_(stem.string() + ".pt2"), end_(Clock::now() + kBuildLimit) {
    const std::string state = stem.string() + ".json", source = stem.string() + ".py";
    Json names = Json::array();
    for (const StateEntry& entry : request.state) names.push_back(entry.names);
    std::ofstream(state) << Json{{"state", names}, {"inputs", request.inputs}};
    std::ofstream(source) << request.model.text;
    const WorkerConfig worker = default_worker_config();
    ProcessSpec spec;
    spec.argv = {worker.python, worker.worker_dir + "/baseline.py",
                 "--model",     source,
                 "--folder",    request.model.folder.string(),
                 "--class",     request.model.cls,
                 "--takes",     state,
                 "--out",       package_};
    spec.environment = own_environment();
    spec.err = tail_.write_end();
    process_ = Process::start(spec);
    tail_.close_write_end();
  }

  // Whether it is over; waits for some milliseconds. A full pipe would stop the compiler, so it is
  // emptied each time.
  bool over() {
    tail_.drain();
    status_ = process_.wait(Clock::now() + std::chrono::milliseconds(20));
    return status_ || Clock::now() > end_;
  }

  // The package; empty, with one line on stderr, when there is none.
  std::string result() {
    tail_.drain();
    if (status_ && *status_ == 0 && std::filesystem::exists(package_)) return package_;
    std::cerr << "note: no torch.compile baseline: "
              << (status_ ? describe_status(*status_) : std::string("took more than five minutes"))
              << "; " << tail_.last_lines(2) << "\n";
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::string package_;
  const Clock::time_point end_;
  OutputTail tail_;
  Process process_;
  std::optional<int> status_;
};

}  // namespace

std::vector<std::string> compile_baselines(const std::vector<BaselineRequest>& requests,
                                           const std::filesystem::path& folder, int parallel,
                                           bool first_alone) {
  std::vector<std::string> out(requests.size());
  std::map<size_t, std::unique_ptr<Build>> running;
  const auto most = static_cast<size_t>(parallel);
  size_t next = 0, limit = first_alone ? 1 : most;
  while (next < requests.size() || !running.empty()) {
    for (; next < requests.size() && running.size() < limit; ++next) {
      const auto stem = folder / ("reference" + std::to_string(next));
      running[next] = std::make_unique<Build>(requests[next], stem);
    }
    for (auto it = running.begin(); it != running.end();) {
      if (!it->second->over()) {
        ++it;
        continue;
      }
      out[it->first] = it->second->result();
      it = running.erase(it);
      limit = most;
    }
  }
  return out;
}

std::string compile_baseline(const RecordRequest& model, const Task& task,
                             const std::filesystem::path& folder) {
  return compile_baselines({{model, task.state, {}}}, folder, 1, true).front();
}

}  // namespace kw
