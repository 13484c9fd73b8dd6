// One child process, started without a shell, watched and killed through its pidfd.
//
// A Process owns its child: destruction kills and reaps it. The child gets exactly the descriptors
// and the environment it is given. It has a separate session, so that Ctrl-C at the terminal does
// not reach it, and it dies with the thread that started it. Between fork and exec only
// async-signal-safe calls are made, so a threaded program may start one. For one thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/process/channel.h"
#include "worker/process/unique_fd.h"

namespace kw {

struct ProcessSpec {
  std::vector<std::string> argv;         // argv[0] is a path; PATH is not searched
  std::vector<std::string> environment;  // "NAME=value"; nothing is inherited
  int in = -1, out = -1, err = -1;       // stdin, stdout, stderr; -1 is /dev/null
  std::vector<int> fds;                  // become descriptors 3, 4, ... of the child
  bool kill_session = false;             // what the child has started is killed when it ends
};

// What else happens in the child between fork and exec (sandbox.h). Everything that needs memory is
// prepared before the fork; enter() makes system calls only.
class ChildSetup {
 public:
  virtual ~ChildSetup() = default;
  // Returns sets of flags to try for clone(2), the preferred one first; the last one should be 0.
  virtual std::vector<int> clone_flags() const { return {0}; }
  // Runs in the child. Reports steps as send_report(report_fd, step, errno or 0).
  virtual void enter(int report_fd, int clone_flags) = 0;
  // Runs in the parent, once for each report of the child.
  virtual void on_report(int step, int error) = 0;

 protected:
  static void send_report(int report_fd, int step, int error);
};

class Process {
 public:
  Process() = default;
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  // Throws EnvironmentError if the process cannot be forked or executed.
  static Process start(const ProcessSpec& spec, ChildSetup* setup = nullptr);

  explicit operator bool() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Waits until `deadline` at most. Returns the exit status as waitpid(2) gives it, or nothing if
  // the process has not ended.
  std::optional<int> wait(Deadline deadline);
  void kill();  // SIGKILL and reap

 private:
  // Kills the session of a child that is not reaped yet, so that the number is still its own.
  void end_session() const;

  pid_t pid_ = -1;
  UniqueFd pidfd_;  // none on kernels before 5.3
  bool kill_session_ = false;
  std::optional<int> status_;
};

// "was killed by SIGSEGV (segmentation fault)", "exited with status 3".
std::string describe_signal(int signal);
std::string describe_status(int wait_status);

// Sends SIGKILL through a pidfd; does nothing if the process is gone.
void kill_pidfd(int pidfd);

// Returns foreign text as one line for people: control characters become spaces, the end is cut.
std::string one_line(std::string_view text, size_t limit = 500);

// A pipe whose writing end is a child's stderr. Keeps the last few kilobytes.
class OutputTail {
 public:
  OutputTail();
  int write_end() const { return write_.get(); }
  void close_write_end() { write_.reset(); }
  int read_end() const { return read_.get(); }
  // Takes what is there without blocking. Returns false if all writers are gone.
  bool drain();
  // Returns the last `lines` non-empty lines joined with " | "; empty if nothing was written.
  std::string last_lines(size_t lines) const;

 private:
  UniqueFd read_, write_;
  std::string text_;
};

}  // namespace kw
