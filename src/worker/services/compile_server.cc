#include "worker/services/compile_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "formats/base/error.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

constexpr std::chrono::minutes kServerStartPatience{
    3};  // importing torch from a cold disk takes a while

// The whole environment: Inductor wants HOME, PATH, a compiler and its caches.
std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  return out;
}

}  // namespace

CompileServer::CompileServer(const std::string& device, int parallel)
    : device_(device), parallel_(parallel) {
  const std::lock_guard lock(mutex_);
  start();
}

CompileServer::~CompileServer() {
  const std::lock_guard lock(mutex_);
  end();
}

void CompileServer::start() {
  auto [ours, theirs] = socket_pair(SOCK_STREAM);
  const WorkerConfig worker = default_worker_config();
  ProcessSpec spec;
  spec.argv = {worker.python, worker.worker_dir + "/compile_server.py",
               "--device",    device_,
               "--parallel",  std::to_string(parallel_),
               "--socket",    "3"};
  spec.environment = own_environment();
  tail_.emplace();
  spec.err = tail_->write_end();
  spec.fds = {theirs.get()};
  thread_.begin([&] { process_ = Process::start(spec); }).get();
  tail_->close_write_end();
  channel_.emplace(std::move(ours));
  ++starts_;
  ended_ = answered_ = false;
}

std::string CompileServer::ask(Json request, std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  const int64_t number = asked_++;
  request["request"] = number;
  request["seconds"] = limit.count();
  // No request waits longer than for all that may run before it.
  const int rounds = open_++ / parallel_ + 1;
  const Deadline deadline = deadline_in(kServerStartPatience + rounds * (limit + limit / 10));
  if (!ended_ && process_.wait(std::chrono::steady_clock::now())) end();
  changed_.wait(lock, [this] { return !(ended_ && reading_); });  // the channel that is no more
  if (ended_ && answered_) start();
  const int process = starts_;
  if (!ended_ && channel_->send({request, {}}, {}, deadline) != ChannelStatus::kOk) end();
  while (!ended_ && process == starts_ && !answers_.contains(number)) {
    if (reading_) {
      changed_.wait(lock);
    } else {
      read_answer(lock, deadline);
    }
  }
  --open_;
  if (const auto found = answers_.extract(number)) return found.mapped();
  const std::string said = tail_->last_lines(2);
  return "the process that runs torch.compile did not answer" + (said.empty() ? "" : "; " + said);
}

void CompileServer::read_answer(std::unique_lock<std::mutex>& lock, Deadline deadline) {
  reading_ = true;
  lock.unlock();
  const Deadline soon = deadline_in(std::chrono::milliseconds(100));
  const FrameChannel::Received answer = channel_->receive(std::min(soon, deadline));
  lock.lock();
  reading_ = false;
  changed_.notify_all();
  tail_->drain();  // or a full pipe would stop the process
  if (answer.ok()) {
    const JsonReader in(answer.frame.json, "the process that runs torch.compile");
    answered_ = true;
    answers_[in.at("request").integer(0, asked_ - 1)] =
        in.at("error").is_null() ? "" : one_line(in.at("error").string());
  } else if (answer.status != ChannelStatus::kTimeout ||
             std::chrono::steady_clock::now() >= deadline) {
    end();
  }
}

void CompileServer::end() {
  ended_ = true;
  tail_->drain();
  process_.kill();
  changed_.notify_all();
}

}  // namespace kw
