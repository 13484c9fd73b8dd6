#include "worker/worker_pool.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <list>
#include <stdexcept>
#include <thread>

#include "formats/base/error.h"
#include "formats/install.h"
#include "worker/replies.h"
#include "worker/zygote.h"
#include "worker/zygote_lending.h"

namespace kw {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Status = JobResult::Status;

constexpr milliseconds kForkPatience{60000};      // from handing a job over to hearing of its child
constexpr milliseconds kChildExitPatience{1000};  // from a closed socket to the child's end
constexpr size_t kReplyChunk = size_t{256} << 10;
constexpr int kChunksAtOnce = 64;  // so that one talkative child does not starve the others

// So that none uses up its limit of processor time (worker/jail.py).
constexpr milliseconds kChildLife{60000};

// A child: at work, about to be forked, or staying for further jobs.
struct Running {
  uint64_t id = 0;
  uint64_t child = 0;  // the id of the first job that it had
  bool stays = false;
  milliseconds allowance{0};
  std::string limit_flag;  // of WorkerConfig
  UniqueFd socket;
  FrameWriter request;
  FrameParser reply;
  uint64_t received = 0;
  UniqueFd pidfd;       // none until the zygote has forked it
  bool closed = false;  // its socket has ended; only its exit is awaited
  Clock::time_point born = Clock::now();
  Clock::time_point started = Clock::now();
  Deadline deadline;  // of the present phase: fork, work, exit
};

std::string seconds_text(milliseconds time) {
  std::string text = std::to_string(static_cast<double>(time.count()) / 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

JobResult ending(Status status, std::string message) {
  JobResult result;
  result.status = status;
  result.message = std::move(message);
  return result;
}

JobResult result_of_death(const ZygoteReport& report) {
  if (report.kind == ZygoteReport::Kind::kExited) {
    return ending(Status::kKilled,
                  "exited with status " + std::to_string(report.code) + " without an answer");
  }
  const std::string message = describe_signal(report.code);
  if (report.code != SIGKILL) return ending(Status::kKilled, message);
  return ending(Status::kFailed, message + ", probably because memory ran out");
}

}  // namespace

int threads_of(int asked) {
  if (asked > 0) return asked;
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

WorkerConfig default_worker_config() {
  WorkerConfig config;
  config.python = worker_python();
  config.worker_dir = shipped("worker");
  const std::filesystem::path library = built("libkw_fake_cuda_device.so");
  if (std::filesystem::exists(library)) config.fake_device_library = library;
  return config;
}

std::string_view job_status_name(Status status) {
  switch (status) {
    case Status::kOk:
      return "ok";
    case Status::kRefused:
      return "refused";
    case Status::kFailed:
      return "failed";
    case Status::kTimeout:
      return "timeout";
    case Status::kKilled:
      return "killed";
    case Status::kFlooded:
      return "flooded";
    case Status::kCancelled:
      return "cancelled";
  }
  throw std::logic_error("no such job status");
}

class WorkerPool::Impl {
 public:
  Impl(WorkerConfig config, SharedZygote* shared, UniqueFd lent = {})
      : config_(std::move(config)), shared_(shared), lent_(std::move(lent)) {}
  ~Impl() {
    for (Running& job : running_) end_child(job);
    for (Running& child : staying_) end_child(child);
  }

  void start() {
    if (zygote_) return;
    if (lent_) zygote_ = Zygote::lent(std::exchange(lent_, {}));
    if (!zygote_) zygote_ = shared_ ? shared_->copy() : std::make_unique<Zygote>(config_);
  }
  const Zygote& zygote() {
    start();
    return *zygote_;
  }

  uint64_t submit(Job job) {
    if (job.fds.size() > kMaxFds) {
      throw InputError("a job takes at most " + std::to_string(kMaxFds) + " descriptors");
    }
    start();
    queue_.push_back({++last_id_, std::move(job)});
    dispatch();
    return last_id_;
  }

  std::optional<JobResult> next_until(Deadline time) {
    forgive();
    while (finished_.empty()) {
      if (queue_.empty() && running_.empty()) throw std::logic_error("no job is under way");
      dispatch();
      wait_for_news(time);
      if (finished_.empty() && Clock::now() >= time) break;
    }
    served_ = Clock::now();
    if (finished_.empty()) return {};
    JobResult result = std::move(finished_.front());
    finished_.pop_front();
    return result;
  }

  void cancel(uint64_t id) {
    auto queued = std::find_if(queue_.begin(), queue_.end(),
                               [&](const Queued& entry) { return entry.id == id; });
    if (queued != queue_.end()) {
      queue_.erase(queued);
      JobResult result = ending(Status::kCancelled, "cancelled");
      result.id = id;
      finished_.push_back(std::move(result));
    } else if (auto job = find(id); job != running_.end()) {
      finish(job, ending(Status::kCancelled, "cancelled"));
    }
  }

  int parallel() const { return std::max(config_.parallel, 1); }
  size_t pending() const { return queue_.size() + running_.size() + finished_.size(); }

 private:
  struct Queued {
    uint64_t id;
    Job job;
  };
  using Iterator = std::list<Running>::iterator;

  // Moves all deadlines by a pause in which the owner did something else and did not read replies.
  void forgive() {
    const auto now = Clock::now();
    for (Running& job : running_) {
      if (job.deadline != kNoDeadline) job.deadline += now - std::max(served_, job.started);
    }
  }

  Iterator find(uint64_t id) {
    return std::find_if(running_.begin(), running_.end(),
                        [&](const Running& job) { return job.id == id; });
  }

  static void end_child(Running& job) {
    if (job.pidfd) kill_pidfd(job.pidfd.get());
  }

  // Every way a job can end leads through here. The child is killed unless it stays. One that is
  // yet to be forked dies when the zygote names it.
  void finish(Iterator job, JobResult result) {
    result.id = job->id;
    result.seconds = std::chrono::duration<double>(Clock::now() - job->started).count();
    if (job->stays && result.ok() && !job->closed && job->reply.empty()) {
      staying_.splice(staying_.end(), running_, job);
    } else {
      end_child(*job);
      running_.erase(job);
    }
    finished_.push_back(std::move(result));
  }

  void dispatch() {
    while (!queue_.empty() && running_.size() < static_cast<size_t>(parallel())) {
      start();
      Queued next = std::move(queue_.front());
      queue_.pop_front();
      begin(next.id, next.job);
    }
  }

  // " (--record-timeout)", empty where no flag limits such jobs.
  std::string limit_flag(const Job& job) const {
    const auto flag = config_.limit_flags.find(job.request.json.value("kind", ""));
    return flag == config_.limit_flags.end() ? "" : " (" + flag->second + ")";
  }

  void begin(uint64_t id, const Job& job) {
    const bool stays = job.request.json.value("stay", false);
    if (stays && begin_again(id, job)) return;
    auto [ours, theirs] = socket_pair(SOCK_STREAM);
    set_nonblocking(ours.get());
    FrameLimits limits;
    limits.bytes = std::max(limits.bytes, config_.reply_bytes);
    running_.push_back(Running{.id = id,
                               .child = id,
                               .stays = stays,
                               .allowance = job.deadline,
                               .limit_flag = limit_flag(job),
                               .socket = std::move(ours),
                               .request = FrameWriter(job.request, job.fds),
                               .reply = FrameParser(limits),
                               .deadline = deadline_in(kForkPatience)});
    if (!zygote_->send_job(id, theirs.get(), config_.memory_bytes)) bury_zygote();
  }

  // With a child that has stayed. False if none is fit for it.
  bool begin_again(uint64_t id, const Job& job) {
    while (!staying_.empty() && !is_fit(staying_.front())) {
      end_child(staying_.front());
      staying_.pop_front();
    }
    if (staying_.empty()) return false;
    running_.splice(running_.end(), staying_, staying_.begin());
    Running& child = running_.back();
    child.id = id;
    child.allowance = job.deadline;
    child.request = FrameWriter(job.request, job.fds);
    child.received = 0;
    child.started = Clock::now();
    child.deadline = deadline_in(child.pidfd ? job.deadline : kForkPatience);
    return true;
  }

  static bool is_fit(const Running& child) {
    char byte = 0;
    const bool silent = ::recv(child.socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
    return silent && Clock::now() - child.born < kChildLife;
  }

  // The zygote is gone, and every child with it.
  void bury_zygote() {
    const std::string message = "the worker's parent process " + zygote_->obituary();
    staying_.clear();
    while (!running_.empty()) finish(running_.begin(), ending(Status::kFailed, message));
    zygote_.reset();
  }

  void wait_for_news(Deadline time) {
    if (running_.empty()) return;
    std::vector<pollfd> entries = {{zygote_->control_fd(), POLLIN, 0},
                                   {zygote_->stderr_fd(), POLLIN, 0}};
    std::vector<Iterator> jobs;
    Deadline first = time;
    for (auto job = running_.begin(); job != running_.end(); ++job) {
      first = std::min(first, job->deadline);
      if (job->closed) continue;
      short events = job->request.done() ? POLLIN : POLLIN | POLLOUT;
      entries.push_back({job->socket.get(), events, 0});
      jobs.push_back(job);
    }
    int ready = ::poll(entries.data(), entries.size(), poll_timeout(first));
    if (ready < 0 && errno != EINTR) {
      throw EnvironmentError(std::string("poll: ") + std::strerror(errno));
    }
    if (ready > 0) {
      zygote_->drain_stderr();
      for (size_t i = 0; i < jobs.size(); ++i) {
        if (entries[i + 2].revents) serve(jobs[i], entries[i + 2].revents);
      }
      if (entries[0].revents) hear_zygote();
    }
    end_overdue();
  }

  void serve(Iterator job, short events) {
    if (events & POLLOUT) job->request.write_some(job->socket.get());
    if (events & ~POLLOUT) read_reply(job);
  }

  // Takes what has come. True when that ended the job.
  bool read_reply(Iterator job) {
    std::string buffer(kReplyChunk, '\0');
    for (int i = 0; i < kChunksAtOnce && !job->closed; ++i) {
      // recv, not recvmsg: descriptors that a child attaches are dropped by the kernel.
      ssize_t count = ::recv(job->socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
      if (count <= 0) {
        job->closed = true;
        job->deadline = std::min(job->deadline, deadline_in(kChildExitPatience));
        return false;
      }
      if (take(job, std::string_view(buffer).substr(0, static_cast<size_t>(count)))) return true;
    }
    return false;
  }

  bool take(Iterator job, std::string_view bytes) {
    job->received += bytes.size();
    if (job->received > config_.reply_bytes) {
      finish(job, ending(Status::kFlooded, "answered with more than " +
                                               std::to_string(config_.reply_bytes) + " bytes"));
      return true;
    }
    try {
      job->reply.feed(bytes);
      auto frame = job->reply.next();
      if (!frame) return false;
      finish(job, result_from_reply(std::move(*frame)));
    } catch (const InputError& error) {
      finish(job, ending(Status::kKilled,
                         "broke the worker protocol and was killed: " + one_line(error.what())));
    }
    return true;
  }

  void hear_zygote() {
    while (auto report = zygote_->receive()) {
      const auto is_it = [&](const Running& each) { return each.child == report->job; };
      if (const auto idle = std::ranges::find_if(staying_, is_it); idle != staying_.end()) {
        idle->pidfd = std::move(report->pidfd);
        if (!idle->pidfd) staying_.erase(idle);  // it has ended
        continue;
      }
      const auto job = std::ranges::find_if(running_, is_it);
      if (report->kind == ZygoteReport::Kind::kStarted) {
        if (job == running_.end()) {
          kill_pidfd(report->pidfd.get());  // ended before it began (cancelled)
          continue;
        }
        job->pidfd = std::move(report->pidfd);
        job->started = Clock::now();
        if (!job->closed) job->deadline = deadline_in(job->allowance);
      } else if (job == running_.end()) {
        continue;  // its answer came first
      } else if (report->kind == ZygoteReport::Kind::kNotForked) {
        finish(job, ending(Status::kFailed, "no worker could be forked: " + report->error));
      } else if (!read_reply(job)) {  // its last words may still lie in the socket
        finish(job, result_of_death(*report));
      }
    }
    if (zygote_->dead()) {
      drain_replies();
      bury_zygote();
    }
  }

  // Answers that were sent before the zygote died still count.
  void drain_replies() {
    for (auto job = running_.begin(); job != running_.end();) read_reply(job++);
  }

  void end_overdue() {
    if (!zygote_) return;
    const auto now = Clock::now();
    for (auto next = running_.begin(); next != running_.end();) {
      auto job = next++;
      if (job->deadline > now) continue;
      if (!job->pidfd) {  // the zygote does not fork: nothing else will come of it either
        bury_zygote();
        return;
      }
      finish(job, job->closed ? ending(Status::kKilled, "closed its socket without an answer")
                              : ending(Status::kTimeout, "took longer than " +
                                                             seconds_text(job->allowance) +
                                                             job->limit_flag));
    }
  }

  WorkerConfig config_;
  SharedZygote* const shared_;
  UniqueFd lent_;
  std::unique_ptr<Zygote> zygote_;
  uint64_t last_id_ = 0;
  std::deque<Queued> queue_;
  std::list<Running> running_;
  std::list<Running> staying_;  // children without a job
  std::deque<JobResult> finished_;
  Clock::time_point served_ = Clock::now();  // when jobs were last looked after
};

SharedZygote::SharedZygote(WorkerConfig config, bool borrows)
    : config_(std::move(config)), borrows_(borrows) {}
SharedZygote::~SharedZygote() = default;

std::shared_ptr<Zygote> SharedZygote::original() {
  const std::lock_guard lock(mutex_);
  if (!original_) {
    const std::string kept = environment_or("KERNELWRIGHT_ZYGOTE", "");
    if (borrows_ && !kept.empty()) {
      std::string why;
      original_ = borrow_zygote(kept, config_, &why);
      if (original_) return original_;
      if (!why.empty()) {
        std::fprintf(stderr, "a new interpreter is started, as the zygote at %s refuses: %s\n",
                     kept.c_str(), why.c_str());
        borrows_ = false;  // it would refuse again
      }
    }
    original_ = thread_.begin([&] { return std::make_shared<Zygote>(config_); }).get();
  }
  return original_;
}

void SharedZygote::replace(const std::shared_ptr<Zygote>& gone) {
  const std::lock_guard lock(mutex_);
  if (original_ == gone) original_.reset();
}

std::unique_ptr<Zygote> SharedZygote::copy() {
  const std::shared_ptr<Zygote> first = original();
  try {
    return Zygote::copy_of(*first);
  } catch (const EnvironmentError&) {
    if (!first->gone()) throw;  // others work with its copies
    replace(first);             // a new one says why, if there can be none
  }
  return Zygote::copy_of(*original());
}

std::vector<SandboxLayer> SharedZygote::walls() { return original()->walls(); }

UniqueFd SharedZygote::lend(int err) {
  std::shared_ptr<Zygote> first = original();
  if (first->gone()) {
    replace(first);
    first = original();
  }
  return first->lend(err);
}

WorkerPool::WorkerPool(WorkerConfig config, SharedZygote* shared)
    : impl_(std::make_unique<Impl>(std::move(config), shared)) {}
WorkerPool::WorkerPool(WorkerConfig config, UniqueFd lent)
    : impl_(std::make_unique<Impl>(std::move(config), nullptr, std::move(lent))) {}
WorkerPool::~WorkerPool() = default;
void WorkerPool::start() { impl_->start(); }
const Json& WorkerPool::versions() const { return impl_->zygote().versions(); }
const std::vector<SandboxLayer>& WorkerPool::sandbox() const { return impl_->zygote().layers(); }
uint64_t WorkerPool::submit(Job job) { return impl_->submit(std::move(job)); }
std::optional<JobResult> WorkerPool::next_until(std::chrono::steady_clock::time_point time) {
  return impl_->next_until(time);
}
void WorkerPool::cancel(uint64_t id) { impl_->cancel(id); }
size_t WorkerPool::pending() const { return impl_->pending(); }
int WorkerPool::parallel() const { return impl_->parallel(); }
}  // namespace kw
