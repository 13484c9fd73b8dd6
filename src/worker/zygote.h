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
  // Makes a Zygote of a copy that another process lent; `walls` are the layers of its sandbox that
  // the lender named. Returns nothing when it does not answer, as the one that lent it has ended.
  static std::unique_ptr<Zygote> lent(UniqueFd control, std::vector<SandboxLayer> walls = {});

  const Json& versions() const { return versions_; }
  // Returns the layers of the sandbox that it lives in, then those that each child adds.
  const std::vector<SandboxLayer>& layers() const { return layers_; }
  // Returns the first of these alone.
  std::vector<SandboxLayer> walls() const { return sandbox_ ? sandbox_->layers() : walls_; }
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
  std::vector<SandboxLayer> walls_;  // as the lender named them
  std::vector<SandboxLayer> layers_;
  bool stderr_open_ = true;
  bool dead_ = false;
  std::string fault_;  // what it did wrong, when it did not just end
};

}  // namespace kw
