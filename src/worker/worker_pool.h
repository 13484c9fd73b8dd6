// Sandboxed Python workers (docs/formats/protocol.md).
//
// A WorkerPool owns one zygote process (a Python interpreter that has imported torch and triton)
// inside a Sandbox, which forks one child per job. Whatever a child does (hang, die, flood) becomes
// a JobResult; it never blocks or breaks the pool. A zygote that dies is restarted with the next
// job. One thread uses a pool, and must outlive it: its end would end the zygote.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/frame.h"
#include "worker/process/sandbox.h"
#include "worker/work_thread.h"

namespace kw {

struct WorkerConfig {
  std::string python;               // interpreter with torch and triton
  std::string worker_dir;           // folder of zygote.py
  std::string fake_device_library;  // libkw_fake_cuda_device.so; empty when torch has CUDA built in
  // Folders below /tmp that jobs must see (the folder of the user's model); the interpreter's own
  // prefix, worker_dir and the guard's folder always are.
  std::vector<std::string> visible;
  int parallel = 2;                            // children at once
  uint64_t reply_bytes = uint64_t{256} << 20;  // more is a flood
  uint64_t memory_bytes = uint64_t{8} << 30;   // address space of a job
  bool sandbox = true;                         // false only by the user's explicit flag
};

// `asked`, or one for each core that this process may use where that is 0.
int threads_of(int asked);

// Defaults from the build tree: KERNELWRIGHT_PYTHON or the interpreter the build was made with.
WorkerConfig default_worker_config();

struct Job {
  Frame request;
  std::vector<int> fds;                       // attached; borrowed until the job ends
  std::chrono::milliseconds deadline{60000};  // wall time from the moment the child starts
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

class Zygote;

// A zygote that serves no jobs: those of several pools are copies of it, so that torch is imported
// once for all of them. Started with the first; one that has died is started again. If
// $KERNELWRIGHT_ZYGOTE names the socket of a ZygoteKeeper, it is borrowed there. Any thread;
// outlives its pools.
class SharedZygote {
 public:
  explicit SharedZygote(WorkerConfig config);
  ~SharedZygote();
  // EnvironmentError as WorkerPool::start() has it.
  std::unique_ptr<Zygote> copy();
  // A copy for a WorkerPool of another process: its control socket, which that process inherits.
  // `err` is where it prints. It ends with this one's zygote, or when the socket is closed.
  // EnvironmentError as above.
  UniqueFd lend(int err);
  // Returns the layers of the sandbox that all copies live in.
  std::vector<SandboxLayer> walls();

 private:
  std::shared_ptr<Zygote> original();
  // Unless another thread has seen that it is gone.
  void replace(const std::shared_ptr<Zygote>& gone);

  const WorkerConfig config_;
  std::mutex mutex_;
  std::shared_ptr<Zygote> original_;
  WorkThread thread_;  // a process ends with the thread that started it; last
};

class WorkerPool {
 public:
  // With `shared`, of the same configuration, zygotes are copies of that one.
  explicit WorkerPool(WorkerConfig config, SharedZygote* shared = nullptr);
  // With a zygote that another process lent (SharedZygote::lend), whose configuration is the same;
  // where that is gone, with one of its own.
  WorkerPool(WorkerConfig config, UniqueFd lent);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Starts the zygote if need be. EnvironmentError with the interpreter's own words when it does
  // not start. Also called by submit(), versions() and sandbox().
  void start();
  const Json& versions() const;  // {"python", "torch", "triton", "cuda"} of the running zygote
  const std::vector<SandboxLayer>& sandbox() const;

  uint64_t submit(Job job);
  // The next finished job; blocks, but never longer than deadlines allow. Must not be called with
  // no job under way. Deadlines are kept, and queued jobs started, only in here.
  JobResult next();
  // The same, or nothing where none has finished by then.
  std::optional<JobResult> next_until(std::chrono::steady_clock::time_point time);
  // Ends a job; its result arrives through next() as kCancelled.
  void cancel(uint64_t id);
  size_t pending() const;
  int parallel() const;  // children at once

  // submit() and next() for one job, when no other is under way.
  JobResult run(Job job);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw
