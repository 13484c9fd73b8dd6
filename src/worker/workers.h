// What runs jobs: a WorkerPool, or a test's stand-in that starts no process.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/frame.h"
#include "worker/process/sandbox.h"

namespace kw {

// A request with "stay": true asks its child to serve further ones (worker/child.py says of which
// kind). All jobs of a pool that ask for it are of one kind.
struct Job {
  Frame request;
  std::vector<int> fds;                       // attached; borrowed until the job ends
  std::chrono::milliseconds deadline{60000};  // wall time from the moment a child has it
};

// kFailed looks like the worker's or the machine's fault; of a child that ends with SIGKILL it is
// taken to be memory that ran out. A job's source may have forged either (verify/blame.h).
struct JobResult {
  enum class Status { kOk, kRefused, kFailed, kTimeout, kKilled, kFlooded, kCancelled };
  uint64_t id = 0;
  Status status = Status::kFailed;
  Frame reply;          // of kOk
  std::string code;     // of kRefused: a code of protocol.md
  std::string message;  // of everything but kOk: one line for people
  std::string file;     // of kRefused, may be empty
  int line = 0;         // of kRefused, 0 when unknown
  double seconds = 0;   // wall time
  bool ok() const { return status == Status::kOk; }
};

std::string_view job_status_name(JobResult::Status status);

// For one thread.
class Workers {
 public:
  virtual ~Workers() = default;
  virtual const std::vector<SandboxLayer>& sandbox() const = 0;
  virtual uint64_t submit(Job job) = 0;
  // Returns the next finished job, or nothing if none has finished by `time`. Throws
  // std::logic_error if no job is under way.
  virtual std::optional<JobResult> next_until(std::chrono::steady_clock::time_point time) = 0;
  // Ends a job; its result arrives through next() as kCancelled.
  virtual void cancel(uint64_t id) = 0;
  virtual size_t pending() const = 0;

  // Waits for the next finished job.
  JobResult next() { return *next_until(std::chrono::steady_clock::time_point::max()); }
  // Submits one job and waits for it; no other may be under way.
  JobResult run(Job job) {
    submit(std::move(job));
    return next();
  }
};

}  // namespace kw
