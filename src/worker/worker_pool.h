// Sandboxed Python workers (docs/formats/protocol.md).
//
// A WorkerPool owns one zygote process inside a Sandbox: a Python interpreter that has imported
// torch and triton and forks a child for each job, unless one has stayed for it. A child that
// hangs, dies or floods becomes a JobResult; it never blocks or breaks the pool. A zygote that dies
// is restarted with the next job. One thread uses a pool, and must outlive it, as the zygote ends
// with the thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "worker/process/sandbox.h"
#include "worker/work_thread.h"
#include "worker/workers.h"

namespace kw {

struct WorkerConfig {
  std::string python;               // interpreter with torch and triton
  std::string worker_dir;           // folder of zygote.py
  std::string fake_device_library;  // libkw_fake_cuda_device.so; empty when torch has CUDA built in
  // Folders below /tmp that jobs must see, such as that of the user's model. Jobs always see the
  // interpreter's prefix, worker_dir and the guard's folder.
  std::vector<std::string> visible;
  int parallel = 2;                            // children at once
  uint64_t reply_bytes = uint64_t{256} << 20;  // more is a flood
  uint64_t memory_bytes = uint64_t{8} << 30;   // address space of a job
  bool sandbox = true;                         // false only by the user's explicit flag
  // The user's flags that limit a job's time, by its kind ("record", "compile"), for messages.
  std::map<std::string, std::string> limit_flags;
};

// Returns `asked` or, if that is 0, one thread for each core that this process may use.
int threads_of(int asked);

// Returns the defaults of the build tree: KERNELWRIGHT_PYTHON or the interpreter of the build.
WorkerConfig default_worker_config();

class Zygote;

// A zygote that serves no jobs: those of several pools are copies of it, so that torch is imported
// once for all of them. Started with the first; one that has died is started again. If
// $KERNELWRIGHT_ZYGOTE names the socket of a ZygoteKeeper, it is borrowed there. If the keeper
// refuses, its reason is printed once. Any thread; outlives its pools.
class SharedZygote {
 public:
  // A keeper does not borrow: the variable may name its own socket.
  explicit SharedZygote(WorkerConfig config, bool borrows = true);
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
  bool borrows_;
  std::shared_ptr<Zygote> original_;
  WorkThread thread_;  // a process ends with the thread that started it; last
};

class WorkerPool : public Workers {
 public:
  // With `shared`, whose configuration must be the same, each zygote is forked from the shared one.
  explicit WorkerPool(WorkerConfig config, SharedZygote* shared = nullptr);
  // Uses a zygote that another process lent (SharedZygote::lend), which must have the same
  // configuration. If the lent one ends, the pool starts a zygote of this process.
  WorkerPool(WorkerConfig config, UniqueFd lent);
  ~WorkerPool() override;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Starts the zygote if it does not run. Throws EnvironmentError with the interpreter's own words
  // if it does not start. submit(), versions() and sandbox() call it too.
  void start();
  const Json& versions() const;  // {"python", "torch", "triton", "cuda"} of the running zygote
  const std::vector<SandboxLayer>& sandbox() const override;

  uint64_t submit(Job job) override;
  // Blocks, but never longer than deadlines allow. Deadlines are kept, and queued jobs started,
  // only in here.
  std::optional<JobResult> next_until(std::chrono::steady_clock::time_point time) override;
  void cancel(uint64_t id) override;
  size_t pending() const override;
  int parallel() const;  // children at once

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kw
