#include "worker/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/base/error.h"

// Newer than the oldest headers that are supported.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

namespace kw {
namespace {

constexpr int kExecStep = -1;  // reported when exec itself failed
constexpr size_t kTailBytes = 8192;

struct Report {
  int step, error;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

void close_on_exec_from(int first) {
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (::syscall(SYS_close_range, first, ~0U, kCloseOnExec) == 0) return;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  int last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (int fd = first; fd < last; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Everything the child needs, prepared by the parent: it must not allocate.
struct ChildPlan {
  std::vector<char*> argv, envp;
  std::vector<int> fds;      // index is the child's descriptor number
  std::vector<int> staging;  // room for as many
  int report = -1;
};

[[noreturn]] void run_child(ChildPlan& plan, ChildSetup* setup, int flags) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal = 1; signal < 32; ++signal) ::signal(signal, SIG_DFL);
  if (setup) setup->enter(plan.report, flags);
  // Through numbers above the targets, so that no source is overwritten before it is used.
  const int count = static_cast<int>(plan.fds.size());
  int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, count);
  for (int i = 0; i < count; ++i) plan.staging[i] = ::fcntl(plan.fds[i], F_DUPFD_CLOEXEC, count);
  for (int i = 0; i < count; ++i) ::dup2(plan.staging[i], i);
  close_on_exec_from(count);
  ::execve(plan.argv[0], plan.argv.data(), plan.envp.data());
  Report failure{kExecStep, errno};
  (void)!::write(report, &failure, sizeof failure);
  ::_exit(127);
}

pid_t fork_with(int flags) {
  return static_cast<pid_t>(::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

std::string signal_words(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV (segmentation fault)";
    case SIGABRT:
      return "SIGABRT (aborted)";
    case SIGBUS:
      return "SIGBUS (bus error)";
    case SIGFPE:
      return "SIGFPE (arithmetic error)";
    case SIGILL:
      return "SIGILL (illegal instruction)";
    case SIGKILL:
      return "SIGKILL";
    case SIGTERM:
      return "SIGTERM";
    case SIGXCPU:
      return "SIGXCPU (processor time limit)";
    case SIGXFSZ:
      return "SIGXFSZ (file size limit)";
    case SIGSYS:
      return "SIGSYS (forbidden system call)";
    default:
      return "signal " + std::to_string(signal);
  }
}

}  // namespace

void ChildSetup::send_report(int report_fd, int step, int error) {
  Report report{step, error};
  (void)!::write(report_fd, &report, sizeof report);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      kill_session_(other.kill_session_),
      status_(std::exchange(other.status_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    kill_session_ = other.kill_session_;
    status_ = std::exchange(other.status_, std::nullopt);
  }
  return *this;
}

Process::~Process() { kill(); }

Process Process::start(const ProcessSpec& spec, ChildSetup* setup) {
  UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int pipe_fds[2];
  if (!null || ::pipe2(pipe_fds, O_CLOEXEC) != 0) {
    throw EnvironmentError(std::string("cannot start a process: ") + std::strerror(errno));
  }
  UniqueFd report_read(pipe_fds[0]), report_write(pipe_fds[1]);

  ChildPlan plan;
  plan.argv = pointers(spec.argv);
  plan.envp = pointers(spec.environment);
  for (const int fd : {spec.in, spec.out, spec.err}) plan.fds.push_back(fd < 0 ? null.get() : fd);
  plan.fds.insert(plan.fds.end(), spec.fds.begin(), spec.fds.end());
  plan.staging.resize(plan.fds.size());
  plan.report = report_write.get();

  Process process;
  for (int flags : setup ? setup->clone_flags() : std::vector<int>{0}) {
    process.pid_ = fork_with(flags);
    if (process.pid_ == 0) run_child(plan, setup, flags);
    if (process.pid_ > 0) break;
  }
  if (process.pid_ < 0) {
    throw EnvironmentError("cannot start " + spec.argv[0] + ": " + std::strerror(errno));
  }
  process.kill_session_ = spec.kill_session;
  process.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, process.pid_, 0)));
  report_write.reset();

  // The pipe ends when exec closes it.
  for (Report report;;) {
    ssize_t count = ::read(report_read.get(), &report, sizeof report);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof report) break;
    if (report.step == kExecStep) {
      throw EnvironmentError("cannot execute " + spec.argv[0] + ": " + std::strerror(report.error));
    }
    if (setup) setup->on_report(report.step, report.error);
  }
  return process;
}

std::optional<int> Process::wait(Deadline deadline) {
  if (pid_ <= 0) return status_;
  if (pidfd_) {
    pollfd entry{pidfd_.get(), POLLIN, 0};
    while (::poll(&entry, 1, poll_timeout(deadline)) < 0 && errno == EINTR) {
    }
  } else {
    // Without pidfd: poll the process table every millisecond.
    siginfo_t info{};
    while (std::chrono::steady_clock::now() < deadline) {
      info.si_pid = 0;
      if (::waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid) break;
      ::poll(nullptr, 0, 1);
    }
  }
  siginfo_t ended{};
  if (::waitid(P_PID, pid_, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid) {
    end_session();
  }
  int status = 0;
  pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
  if (reaped == 0) return std::nullopt;
  status_ = reaped == pid_ ? status : 0;
  pid_ = -1;
  pidfd_.reset();
  return status_;
}

void Process::end_session() const {
  if (kill_session_) ::kill(-pid_, SIGKILL);
}

void Process::kill() {
  if (pid_ <= 0) return;
  end_session();
  ::kill(pid_, SIGKILL);  // not reaped yet, so the number is still its own
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
  pid_ = -1;
  pidfd_.reset();
}

std::string describe_signal(int signal) { return "was killed by " + signal_words(signal); }

std::string describe_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return describe_signal(WTERMSIG(wait_status));
  return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
}

void kill_pidfd(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

std::string one_line(std::string_view text, size_t limit) {
  std::string line;
  for (size_t i = 0; i < std::min(text.size(), limit); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) c = ' ';  // no newlines, no terminal escapes
    if (c == ' ' && (line.empty() || line.back() == ' ')) continue;
    line += static_cast<char>(c);
  }
  if (text.size() > limit) line += "...";
  while (!line.empty() && line.back() == ' ') line.pop_back();
  // Bytes that are no UTF-8 (or were cut apart above) would spoil the reports this ends up in.
  const std::string quoted = Json(line).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

OutputTail::OutputTail() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    throw EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  read_.reset(fds[0]);
  write_.reset(fds[1]);
  set_nonblocking(read_.get());
}

bool OutputTail::drain() {
  char buffer[4096];
  for (int round = 0; round < 64; ++round) {  // a flooding writer must not keep us here
    ssize_t count = ::read(read_.get(), buffer, sizeof buffer);
    if (count == 0) return false;
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    text_.append(buffer, static_cast<size_t>(count));
    if (text_.size() > 2 * kTailBytes) text_.erase(0, text_.size() - kTailBytes);
  }
  return true;
}

std::string OutputTail::last_lines(size_t lines) const {
  std::vector<std::string> kept;
  size_t end = text_.size();
  while (end > 0 && kept.size() < lines) {
    size_t newline = text_.rfind('\n', end - 1);
    size_t begin = newline == std::string::npos ? 0 : newline + 1;
    std::string line = one_line(std::string_view(text_).substr(begin, end - begin));
    if (!line.empty()) kept.push_back(line);
    end = begin == 0 ? 0 : begin - 1;
  }
  std::string out;
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) out += (out.empty() ? "" : " | ") + *it;
  return out;
}

}  // namespace kw
