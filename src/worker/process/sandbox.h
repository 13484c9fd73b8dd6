// The outer walls of a worker, in which the zygote and all its children live.
//
// A Sandbox is the ChildSetup (process.h) that puts a new process into its own user, pid, mount,
// network, ipc and uts namespaces. Everything is read-only. There is an empty /tmp with one
// writable folder, a /dev without devices, a separate /proc, and no network. It works as root and
// as a plain user. Each layer is tried alone and reported; if a host refuses one, the others still
// hold. worker/jail.py makes the inner walls of each job: limits, capabilities, /tmp, Landlock,
// seccomp.
#pragma once

#include <string>
#include <vector>

#include "worker/process/process.h"

namespace kw {

// One layer of the sandbox as it was found: "user namespace", "read-only root", "no network", ...
struct SandboxLayer {
  std::string name;
  bool active = false;
  std::string detail;  // why not, when it is not
};

struct SandboxSpec {
  bool enabled = true;               // false: no walls at all, every layer reported inactive
  std::vector<std::string> visible;  // folders that stay readable although they are below /tmp
};

class Sandbox : public ChildSetup {
 public:
  explicit Sandbox(SandboxSpec spec);
  ~Sandbox() override;  // removes the writable folder where it had to be made on the host
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Returns the whole environment of a process inside: its own folder as HOME, TMPDIR and Triton's
  // cache, one thread, no preloaded libraries, no GPU. The variables with which the user's
  // interpreter finds its modules are handed on: PYTHONPATH, PYTHONUSERBASE, LD_LIBRARY_PATH.
  std::vector<std::string> environment() const;
  // The writable folder.
  const std::string& scratch() const { return scratch_; }
  // What was found when the process started.
  const std::vector<SandboxLayer>& layers() const { return layers_; }

  std::vector<int> clone_flags() const override;
  void enter(int report_fd, int clone_flags) override;
  void on_report(int step, int error) override;

 private:
  // A folder below /tmp that must survive the new /tmp.
  struct Visible {
    std::string path;
    std::vector<std::string> parents;  // from the top, itself last
    int fd = -1;                       // child only
  };
  int map_user();
  int read_only_root();
  int private_dev();
  int private_tmp();
  int private_proc();

  SandboxSpec spec_;
  std::string scratch_;
  std::string uid_map_, gid_map_;
  std::vector<Visible> visible_;
  std::vector<SandboxLayer> layers_;
};

}  // namespace kw
