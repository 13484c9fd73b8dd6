#include "executor/device/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <thread>

#include "executor/aten/guarded_memory.h"
#include "executor/device/memory_file.h"
#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw::exec {
namespace {

// A storage in a memory file between two guard regions.
class InterpretedBuffer {
 public:
  explicit InterpretedBuffer(const at::Storage& storage)
      : storage_(storage),
        file_(2 * kGuardBytes + static_cast<int64_t>((storage.nbytes() + 1) / 2 * 2)) {
    auto* words = reinterpret_cast<int16_t*>(file_.data());
    std::fill(words, words + file_.bytes() / 2, kPoison);
    std::memcpy(file_.data() + kGuardBytes, storage.data(), storage.nbytes());
  }
  const MemoryFile& file() const { return file_; }
  const at::Storage& storage() const { return storage_; }
  void copy_back() {
    std::memcpy(storage_.mutable_data(), file_.data() + kGuardBytes, storage_.nbytes());
  }
  bool intact() const {
    const int64_t end = kGuardBytes + static_cast<int64_t>(storage_.nbytes());
    const auto poison = [&](int64_t at) {
      return static_cast<char>(at % 2 ? kPoison >> 8 : kPoison & 0xff);
    };
    for (int64_t at = 0; at < kGuardBytes; ++at) {
      if (file_.data()[at] != poison(at)) return false;
    }
    for (int64_t at = end; at < file_.bytes(); ++at) {
      if (file_.data()[at] != poison(at)) return false;
    }
    return true;
  }

 private:
  at::Storage storage_;
  MemoryFile file_;
};

[[noreturn]] void raise(const JobResult& result, const std::string& kernel) {
  const std::string text = kernel + " in the interpreter: " + result.message;
  switch (result.status) {
    case JobResult::Status::kKilled:  // by a wild pointer
    case JobResult::Status::kFlooded:
      throw ReplayError(text);
    case JobResult::Status::kRefused:  // an access outside the launch's buffers
      if (result.code == "raised") throw ReplayError(text);
      throw NotJudged(text);
    default:
      throw NotJudged(text);
  }
}

// The jobs of the worker.
class Interpreter {
  // Returns what `read` takes of the reply.
  template <class Read>
  auto run(Job job, const Kernel& kernel, const Read& read) {
    job.deadline = deadline_;
    const JobResult result = pool_.run(std::move(job));
    if (!result.ok()) raise(result, kernel.name);
    try {
      return read(JsonReader(result.reply.json, "reply"));
    } catch (const InputError& error) {
      throw NotJudged(kernel.name + " in the interpreter: " + error.what());
    }
  }

 public:
  Interpreter(WorkerPool& pool, std::chrono::milliseconds deadline)
      : pool_(pool), deadline_(deadline) {}

  // Returns a kernel's TTIR. Only this job runs the kernel's Python.
  std::string lower(const Kernel& kernel) {
    const Json request = {{"kind", "lower"}, {"slice", kernel.source}, {"kernel", to_json(kernel)}};
    return run({{request}, {}}, kernel,
               [](const JsonReader& reply) -> std::string { return reply.at("ttir").string(); });
  }
  // Returns how much the launch did.
  double launch(const Kernel& kernel, Json request, std::vector<int> buffers) {
    request.update({{"kind", "interpret"}, {"stay", true}, {"kernel", to_json(kernel)}});
    return run({{std::move(request)}, std::move(buffers)}, kernel,
               [](const JsonReader& reply) { return reply.at("work").number(); });
  }

 private:
  WorkerPool& pool_;
  const std::chrono::milliseconds deadline_;
};

class InterpretedKernel {
 public:
  InterpretedKernel(Interpreter& interpreter, Kernel kernel)
      : interpreter_(interpreter), kernel_(std::move(kernel)) {}

  double launch(Json request, std::vector<int> buffers) {
    if (!ttir_) ttir_ = interpreter_.lower(kernel_);
    request["ttir"] = *ttir_;
    return interpreter_.launch(kernel_, std::move(request), std::move(buffers));
  }

 private:
  Interpreter& interpreter_;
  const Kernel kernel_;
  std::optional<std::string> ttir_;  // from its first launch on
};

// How launches run at present.
struct LaunchSettings {
  bool open_guards = false;
  uint64_t seed = 0;
  double work = kAnyWork;  // that is left
};

class InterpretedLaunch : public PreparedLaunch {
 public:
  // `number` tells a program's launches apart: each has a seed of its own, also if others are left
  // out.
  InterpretedLaunch(InterpretedKernel& kernel, const Launch& launch, int number,
                    LaunchSettings& settings)
      : kernel_(kernel), launch_(launch), number_(number), settings_(settings) {}

  bool run(std::span<const at::Tensor> tensors) override {
    std::vector<InterpretedBuffer> buffers;
    Json args = Json::array();
    for (size_t a = 0; a < launch_.args.size(); ++a) {
      args.push_back(tensors[a].defined() ? tensor_argument(tensors[a], buffers)
                                          : arg_to_json(launch_.args[a]));
    }
    Json places = Json::array();
    std::vector<int> files;
    for (const InterpretedBuffer& buffer : buffers) {
      const auto bytes = static_cast<int64_t>(buffer.storage().nbytes());
      Json place = {{"bytes", buffer.file().bytes()}};
      if (!settings_.open_guards)
        place.update({{"begin", kGuardBytes}, {"end", kGuardBytes + bytes}});
      places.push_back(std::move(place));
      files.push_back(buffer.file().fd());
    }
    settings_.work -= kernel_.launch({{"grid", launch_.grid},
                                      {"args", std::move(args)},
                                      {"buffers", places},
                                      {"promises", !settings_.open_guards},
                                      {"work", settings_.work},
                                      {"seed", {settings_.seed, number_}}},
                                     files);
    // All buffers are copied, also those that the kernel is not said to write, so that hidden
    // writes show.
    for (InterpretedBuffer& buffer : buffers) buffer.copy_back();
    return std::all_of(buffers.begin(), buffers.end(),
                       [](const InterpretedBuffer& buffer) { return buffer.intact(); });
  }

 private:
  static Json tensor_argument(const at::Tensor& tensor, std::vector<InterpretedBuffer>& buffers) {
    const auto same = [&](const InterpretedBuffer& buffer) {
      return buffer.storage().is_alias_of(tensor.storage());
    };
    auto found = std::find_if(buffers.begin(), buffers.end(), same);
    if (found == buffers.end()) {
      buffers.emplace_back(tensor.storage());
      found = buffers.end() - 1;
    }
    return {{"buffer", found - buffers.begin()},
            {"dtype", dtype_name(dtype_of(tensor.scalar_type()))},
            {"offset", kGuardBytes + tensor.storage_offset() * tensor.element_size()}};
  }

  InterpretedKernel& kernel_;
  Launch launch_;
  const int number_;
  LaunchSettings& settings_;
};

class InterpretedKernels : public KernelSet {
 public:
  InterpretedKernels(Interpreter& interpreter, const std::vector<Kernel>& kernels,
                     LaunchSettings& settings)
      : settings_(settings) {
    for (const Kernel& kernel : kernels) kernels_.emplace_back(interpreter, kernel);
  }
  std::unique_ptr<PreparedLaunch> prepare(const Launch& launch) override {
    return std::make_unique<InterpretedLaunch>(kernels_.at(launch.kernel), launch, launches_++,
                                               settings_);
  }

 private:
  std::deque<InterpretedKernel> kernels_;
  LaunchSettings& settings_;
  int launches_ = 0;
};

// Returns the bytes of a line such as "VmHWM:   123 kB" of /proc/self/status; 0 if it is absent.
int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(key + ":")) return std::stoll(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(CpuBackendConfig config)
      : pool_(interpreting(config.worker), std::move(config.zygote)),
        interpreter_(pool_, config.launch_deadline) {}

  at::Device device() const override { return at::kCPU; }
  Json describe() const override {
    const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    return {{"backend", "cpu"},
            {"device", processor_name()},
            {"total_memory", pages * page},
            {"threads", at::get_num_threads()}};
  }
  std::unique_ptr<KernelSet> load(const std::vector<Kernel>& kernels) override {
    return std::make_unique<InterpretedKernels>(interpreter_, kernels, settings_);
  }
  bool isolated() const override { return true; }
  bool deterministic() const override { return true; }
  void open_guards(bool open) override { settings_.open_guards = open; }
  void seed_launches(uint64_t seed) override { settings_.seed = seed; }
  void limit_work(double operations) override { settings_.work = operations; }
  void synchronize() override {}
  void reset_peak_bytes() override { std::ofstream("/proc/self/clear_refs") << "5"; }
  int64_t peak_bytes() const override { return status_bytes("VmHWM"); }
  void check_alive() override {}

 private:
  static WorkerConfig interpreting(WorkerConfig config) {
    config.parallel = 1;  // launches come one after another
    return config;
  }

  WorkerPool pool_;
  Interpreter interpreter_;
  LaunchSettings settings_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(CpuBackendConfig config) {
  return std::make_unique<CpuBackend>(std::move(config));
}

}  // namespace kw::exec
