#include "runtime/sanitizer.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <regex>
#include <sstream>
#include <utility>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/scratch_folder.h"
#include "runtime/executor_client.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPrefix = "=========", kTitle = "COMPUTE-SANITIZER";
constexpr const char* kMostMessages = "10000";
// Bytes after each allocation that memcheck keeps free, so that a neighbour hides no access.
constexpr const char* kPadding = "4096";

std::string found_program(const std::string& backend) {
  if (backend != "cuda") {
    throw InputError(
        "compute-sanitizer checks kernels on a GPU, and they are judged on a CPU here");
  }
  if (const char* named = std::getenv("KERNELWRIGHT_SANITIZER")) return named;
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  std::vector<fs::path> folders;
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  folders.emplace_back("/usr/local/cuda/bin");
  for (const fs::path& folder : folders) {
    const fs::path file = folder / "compute-sanitizer";
    if (::access(file.c_str(), X_OK) == 0) return file.string();
  }
  throw InputError(
      "there is no compute-sanitizer here: it is part of the CUDA toolkit. Install that, or name "
      "the program in $KERNELWRIGHT_SANITIZER");
}

std::vector<std::string> command(const std::string& program, const std::string& tool,
                                 const std::string& log) {
  std::vector<std::string> out = {program, "--tool", tool, "--log-file", log};
  out.insert(out.end(), {"--print-limit", kMostMessages, "--demangle", "no"});
  out.insert(out.end(), {"--show-backtrace", "device", "--check-exit-code", "no"});
  out.insert(out.end(), {"--max-connections", "256"});  // of all that run on this machine
  if (tool == "memcheck") {
    out.insert(out.end(), {"--padding", kPadding, "--report-api-errors", "no"});
  }
  return out;
}

std::set<std::string> symbols_of(const Task& task) {
  std::set<std::string> out;
  for (const Kernel& kernel : task.kernels) {
    if (kernel.compiled) out.insert(kernel.compiled->symbol);
  }
  return out;
}

// A log's lines without prefix and indentation.
std::vector<std::string> lines_of(std::string_view log) {
  std::vector<std::string> out;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kPrefix)) line.erase(0, kPrefix.size());
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    if (line != kTitle) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

// One at a time runs under a tool.
class Sanitizer::Tool {
 public:
  Tool(ExecutorConfig executor, std::string program, std::string name)
      : name_(std::move(name)), executor_(std::move(executor)), program_(std::move(program)) {
    executor_.processes = 1;
    executor_.loads_ahead = false;
    executor_.variables = {"PYTORCH_NO_CUDA_MEMORY_CACHING=1"};  // each tensor is an allocation
  }

  struct Run {
    std::vector<SanitizerFinding> findings;
    std::string fault;
  };

  Run run(const Task& reference, const Task& candidate, uint64_t seed,
          std::chrono::milliseconds deadline) {
    const std::lock_guard lock(mutex_);
    Run out;
    try {
      if (!client_) start();
      const Reply reply = asked(reference, candidate, seed, deadline);
      if (!reply.ok()) out.fault = name_ + ": " + reply.message;
      // A process that is dead, or told to end, has written all it had to say. One that lives
      // writes a message before the call that it is about returns.
      if (!reply.ok()) client_.reset();
      const std::string log = fs::exists(log_) ? read_file(log_) : "";
      out.findings = read_findings(name_, log, symbols_of(candidate));
      if (client_ && !lines_of(log).empty()) client_.reset();  // the next one has a new log
    } catch (const EnvironmentError& error) {
      client_.reset();
      out.fault = name_ + ": " + error.what();
    }
    if (!out.findings.empty()) out.fault.clear();  // memcheck ends a device with a finding
    return out;
  }

 private:
  void start() {
    log_ = folder_.path() / (name_ + "-" + std::to_string(starts_++) + ".log");
    ExecutorConfig config = executor_;
    config.wrapper = command(program_, name_, log_.string());
    client_.emplace(std::move(config));
  }

  Reply asked(const Task& reference, const Task& candidate, uint64_t seed,
              std::chrono::milliseconds deadline) {
    const int known = client_->load(reference), other = client_->load(candidate);
    const Reply reply = client_->bare({known, other, seed}, deadline);
    client_->unload(other);
    client_->unload(known);
    return reply;
  }

  const std::string name_;
  ExecutorConfig executor_;
  const std::string program_;
  const ScratchFolder folder_{"kernelwright-sanitizer"};
  fs::path log_;
  int starts_ = 0;
  std::optional<ExecutorClient> client_;
  std::mutex mutex_;
};

Json to_json(const SanitizerReport& report) {
  const auto all = [](const std::vector<SanitizerFinding>& findings) {
    Json out = Json::array();
    for (const SanitizerFinding& finding : findings) {
      out.push_back({{"tool", finding.tool},
                     {"what", finding.what},
                     {"where", finding.where},
                     {"count", finding.count}});
    }
    return out;
  };
  Json out = {{"findings", all(report.findings)},
              {"noted", all(report.noted)},
              {"seconds", report.seconds}};
  if (!report.fault.empty()) out["fault"] = report.fault;
  return out;
}

std::string findings_text(const Json& findings) {
  if (findings.empty()) return "";
  const auto said = [&](const char* member) { return findings[0][member].get<std::string>(); };
  return said("tool") + ": " + said("what") + " in " + said("where") +
         (findings.size() > 1 ? ", and " + std::to_string(findings.size() - 1) + " more" : "");
}

std::vector<SanitizerFinding> read_findings(const std::string& tool, std::string_view log,
                                            const std::set<std::string>& symbols) {
  // In a message, the first line says what, and others "at SYMBOL+0xOFFSET in FILE:LINE".
  static const std::regex kPlace(R"(([A-Za-z0-9_.$]+)\+0x[0-9a-f]+(?: in (\S+:\d+))?)");
  std::vector<SanitizerFinding> out;
  std::string what, where;
  const auto end_message = [&] {
    if (what.find("__global__") != std::string::npos && !where.empty()) {
      const auto same = std::ranges::find_if(out, [&](const SanitizerFinding& other) {
        return other.what == what && other.where == where;
      });
      if (same == out.end()) {
        out.push_back({tool, what, where});
      } else {
        ++same->count;
      }
    }
    what = where = "";
  };
  for (const std::string& line : lines_of(log)) {
    if (line.empty()) {
      end_message();
      continue;
    }
    if (what.empty()) what = line.substr(0, line.find(" at "));
    std::smatch place;
    for (std::string rest = line; where.empty() && std::regex_search(rest, place, kPlace);
         rest = place.suffix()) {
      if (!symbols.contains(place[1].str())) continue;
      where = place[1].str() + (place[2].matched ? " in " + place[2].str() : "");
    }
  }
  end_message();
  return out;
}

Sanitizer::Sanitizer(ExecutorConfig executor)
    : Sanitizer(executor, found_program(executor.backend)) {}

Sanitizer::Sanitizer(ExecutorConfig executor, const std::string& program)
    : memcheck_(std::make_unique<Tool>(executor, program, "memcheck")),
      initcheck_(std::make_unique<Tool>(std::move(executor), program, "initcheck")) {}

Sanitizer::~Sanitizer() = default;

SanitizerReport Sanitizer::inspect(const Task& reference, const Task& candidate, uint64_t seed,
                                   std::chrono::milliseconds deadline) {
  const Clock::time_point start = Clock::now();
  auto meanwhile = std::async(
      std::launch::async, [&] { return initcheck_->run(reference, candidate, seed, deadline); });
  Tool::Run accesses = memcheck_->run(reference, candidate, seed, deadline);
  Tool::Run reads = meanwhile.get();
  SanitizerReport out;
  out.findings = std::move(accesses.findings);
  out.noted = std::move(reads.findings);
  out.fault = accesses.fault.empty() ? reads.fault : accesses.fault;
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

}  // namespace kw
