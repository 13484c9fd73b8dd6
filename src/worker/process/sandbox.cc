#include "worker/process/sandbox.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

namespace kw {
namespace {

enum SandboxStep : int {
  kUser,
  kPid,
  kMount,
  kReadOnly,
  kDev,
  kTmp,
  kProc,
  kNetwork,
  kIpc,
  kUts,
  kStepCount,
};

constexpr const char* kStepNames[kStepCount] = {
    "user namespace", "pid namespace", "mount namespace", "read-only root", "no devices",
    "hidden /tmp",    "private /proc", "no network",      "ipc namespace",  "uts namespace",
};

// Of the kernel's interface (linux/mount.h clashes with sys/mount.h on some systems).
struct MountAttr {
  uint64_t attr_set, attr_clr, propagation, userns_fd;
};
constexpr uint64_t kMountReadOnly = 1, kMountNoSuid = 2;

int error_of(long result) { return result < 0 ? errno : 0; }

int write_file(const char* path, const char* text) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = error_of(::write(fd, text, std::strlen(text)));
  ::close(fd);
  return error;
}

// Mounts what `fd` (O_PATH) shows on `target`. Through /proc because bind mounts take paths.
int bind_fd(int fd, const char* target) {
  char path[32] = "/proc/self/fd/";
  char digits[12];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + fd % 10);
  while ((fd /= 10) > 0);
  char* end = path + std::strlen(path);
  while (count > 0) *end++ = digits[--count];
  *end = '\0';
  return error_of(::mount(path, target, nullptr, MS_BIND | MS_REC, nullptr));
}

int tmpfs(const char* target, const char* options) {
  return error_of(::mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, options));
}

int seal(const char* target) {
  return error_of(::mount(nullptr, target, nullptr,
                          MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr));
}

std::string random_name() {
  std::random_device device;
  std::string name;
  for (int i = 0; i < 16; ++i) name += "0123456789abcdef"[device() % 16];
  return name;
}

bool is_below_tmp(const std::string& path) { return path.rfind("/tmp/", 0) == 0; }

void hand_on(std::vector<std::string>& environment, const char* name) {
  if (const char* value = std::getenv(name)) environment.push_back(std::string(name) + "=" + value);
}

}  // namespace

Sandbox::Sandbox(SandboxSpec spec)
    : spec_(std::move(spec)),
      scratch_("/tmp/kernelwright-" + random_name()),
      uid_map_("0 " + std::to_string(::geteuid()) + " 1\n"),
      gid_map_("0 " + std::to_string(::getegid()) + " 1\n") {
  const char* why = spec_.enabled ? "refused by this system" : "switched off";
  for (const char* name : kStepNames) layers_.push_back({name, false, why});
  for (const std::string& folder : spec_.visible) {
    if (!is_below_tmp(folder)) continue;
    Visible visible;
    visible.path = folder;
    for (size_t slash = folder.find('/', 5); slash != std::string::npos;
         slash = folder.find('/', slash + 1)) {
      visible.parents.push_back(folder.substr(0, slash));
    }
    visible.parents.push_back(folder);
    visible_.push_back(std::move(visible));
  }
}

Sandbox::~Sandbox() {
  if (layers_[kTmp].active) return;
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

std::vector<std::string> Sandbox::environment() const {
  std::vector<std::string> environment = {
      "HOME=" + scratch_,
      "TMPDIR=" + scratch_,
      "TRITON_CACHE_DIR=" + scratch_ + "/triton",
      "PATH=/usr/local/bin:/usr/bin:/bin",
      "LANG=C.UTF-8",
      "USER=worker",  // the mapped user has no entry in /etc/passwd that fits
      "LOGNAME=worker",
      "OMP_NUM_THREADS=1",
      "MKL_NUM_THREADS=1",
      "CUDA_VISIBLE_DEVICES=",
      "TRITON_DISABLE_LINE_INFO=1",  // equal slices give equal machine code
      "PYTHONDONTWRITEBYTECODE=1",
      // As in use: a file must not know its recording by a hash, or by the order of a set.
      "PYTHONHASHSEED=" + std::to_string(std::random_device{}()),
  };
  hand_on(environment, "PYTHONPATH");
  hand_on(environment, "LD_LIBRARY_PATH");
  if (std::getenv("PYTHONUSERBASE")) {
    hand_on(environment, "PYTHONUSERBASE");
  } else if (const char* home = std::getenv("HOME")) {
    environment.push_back("PYTHONUSERBASE=" + std::string(home) + "/.local");
  }
  return environment;
}

std::vector<int> Sandbox::clone_flags() const {
  if (!spec_.enabled) return {0};
  return {CLONE_NEWUSER | CLONE_NEWPID, CLONE_NEWPID, CLONE_NEWUSER, 0};
}

void Sandbox::enter(int report_fd, int clone_flags) {
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  auto report = [&](SandboxStep step, int error) {
    send_report(report_fd, step, error);
    return error == 0;
  };
  if (!spec_.enabled) {
    ::mkdir(scratch_.c_str(), 0700);
    return;
  }
  if (clone_flags & CLONE_NEWUSER) report(kUser, map_user());
  if (clone_flags & CLONE_NEWPID) report(kPid, 0);
  report(kNetwork, error_of(::unshare(CLONE_NEWNET)));  // its loopback stays down
  report(kIpc, error_of(::unshare(CLONE_NEWIPC)));
  if (report(kUts, error_of(::unshare(CLONE_NEWUTS)))) (void)!::sethostname("worker", 6);

  int error = error_of(::unshare(CLONE_NEWNS));
  if (!error) error = error_of(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  if (report(kMount, error)) {
    report(kReadOnly, read_only_root());
    report(kDev, private_dev());
    report(kTmp, private_tmp());
    if (clone_flags & CLONE_NEWPID) report(kProc, private_proc());
  } else {
    ::mkdir(scratch_.c_str(), 0700);
  }
  if (::chdir(scratch_.c_str()) != 0) (void)!::chdir("/");
}

void Sandbox::on_report(int step, int error) {
  if (step < 0 || step >= kStepCount) return;
  layers_[step].active = error == 0;
  layers_[step].detail = error == 0 ? "" : std::strerror(error);
}

int Sandbox::map_user() {
  // A plain user may only map itself, and only with setgroups given up.
  write_file("/proc/self/setgroups", "deny");
  if (int error = write_file("/proc/self/uid_map", uid_map_.c_str())) return error;
  return write_file("/proc/self/gid_map", gid_map_.c_str());
}

int Sandbox::read_only_root() {
  MountAttr attributes{kMountReadOnly | kMountNoSuid, 0, 0, 0};
  return error_of(
      ::syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attributes, sizeof attributes));
}

int Sandbox::private_dev() {
  static constexpr const char* kNodes[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                           "/dev/urandom"};
  int fds[std::size(kNodes)];
  for (size_t i = 0; i < std::size(kNodes); ++i) fds[i] = ::open(kNodes[i], O_PATH | O_CLOEXEC);
  if (int error = tmpfs("/dev", "mode=755,size=64k")) return error;
  for (size_t i = 0; i < std::size(kNodes); ++i) {
    if (fds[i] < 0) continue;
    int file = ::open(kNodes[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    ::close(file);
    if (int error = bind_fd(fds[i], kNodes[i])) return error;
    ::close(fds[i]);
  }
  (void)!::symlink("/proc/self/fd", "/dev/fd");
  ::mkdir("/dev/shm", 01777);
  if (int error = tmpfs("/dev/shm", "mode=1777,size=256m")) return error;
  return seal("/dev");
}

int Sandbox::private_tmp() {
  for (Visible& visible : visible_) {
    visible.fd = ::open(visible.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  if (int error = tmpfs("/tmp", "mode=755,size=1m")) {
    ::mkdir(scratch_.c_str(), 0700);
    return error;
  }
  if (::mkdir(scratch_.c_str(), 0700) != 0) return errno;
  for (Visible& visible : visible_) {
    if (visible.fd < 0) continue;
    for (const std::string& parent : visible.parents) ::mkdir(parent.c_str(), 0755);
    int error = bind_fd(visible.fd, visible.path.c_str());
    ::close(visible.fd);
    if (error) return error;
  }
  if (int error = tmpfs(scratch_.c_str(), "mode=700,size=1g")) return error;
  return seal("/tmp");
}

int Sandbox::private_proc() {
  // Read-only: /proc/sys belongs to the host's root, who may be the one we run as.
  return error_of(
      ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, nullptr));
}

}  // namespace kw
