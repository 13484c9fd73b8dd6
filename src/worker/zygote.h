// The running zygote of a WorkerPool: its process, its sandbox, its control socket, its stderr.
//
// The protocol is documented in docs/formats/protocol.md, "Worker". The zygote itself never runs a
// candidate's code, but its messages are parsed as strictly as all others. For one thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "worker/process/process.h"
#include "worker/process/sandbox.h"
#include "worker/replies.h"
#include "worker/worker_pool.h"

namespace kw {

class Zygote {
 public:
  // Starts it and waits until it is ready. Throws EnvironmentError with its last words if it does
  // not get ready.
  explicit Zygote(const WorkerConfig& config);
  // Returns a copy of a zygote that is ready. It runs in the same sandbox and ends with the
  // original. Several threads may copy one zygote.
  static std::unique_ptr<Zygote> copy_of(Zygote& original);
  // Returns the control socket of such a copy for another process, which makes a Zygote of it with
  // lent(). The copy prints to `err`.
  UniqueFd lend(int err);
  // Returns null if the zygote does not answer because the one that lent it has ended.
  static std::unique_ptr<Zygote> lent(UniqueFd control);

  const Json& versions() const { return versions_; }
  // The sandbox's layers, then those that each child adds. A lent zygote has only the latter, as
  // its sandbox is another process's.
  const std::vector<SandboxLayer>& layers() const { return layers_; }
  int control_fd() const { return control_.get(); }
  // -1 once the zygote has closed its stderr; poll(2) ignores it then.
  int stderr_fd() const { return stderr_open_ ? stderr_.read_end() : -1; }
  void drain_stderr() { stderr_open_ = stderr_open_ && stderr_.drain(); }

  // Hands over a job's socket. Returns false if the zygote cannot take it.
  bool send_job(uint64_t id, int socket, uint64_t memory_bytes);
  // Returns the next report, or nothing if there is none now. Sets dead() if the zygote has closed
  // its socket or breaks the protocol.
  std::optional<ZygoteReport> receive();
  bool dead() const { return dead_; }
  // Returns whether it has closed its socket, without reading its messages.
  bool gone() const;
  // Says how it ended and what it printed last, for people. Kills it if it still runs.
  std::string obituary();

 private:
  explicit Zygote(std::shared_ptr<Sandbox> sandbox);

  std::optional<Json> receive_message(std::vector<UniqueFd>* fds);
  void take_greeting(const JsonReader& in);
  void give_up(std::string fault);
  void wait_until_ready(std::chrono::milliseconds patience);

  std::shared_ptr<Sandbox> sandbox_;  // null: another process's
  OutputTail stderr_;
  UniqueFd control_;
  std::mutex copying_;
  Process process_;  // none of a copy, whose parent is the original
  Json versions_;
  std::vector<SandboxLayer> layers_;
  bool stderr_open_ = true;
  bool dead_ = false;
  std::string fault_;  // what it did wrong, when it did not just end
};

}  // namespace kw
