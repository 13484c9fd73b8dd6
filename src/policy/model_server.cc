#include "policy/model_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"
#include "formats/install.h"
#include "worker/process/process.h"
#include "worker/process/sockets.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kExitPatience{5000};
// A server that had accepted requests is started again this many times in a row, each time after a
// longer pause. Other users of a device may take its memory for a while. A server that ran for
// longer than kSteady resets the count.
constexpr int kRestarts = 3;
constexpr milliseconds kPause{1000}, kSteady{60000};
constexpr int kInputExit = 2;  // the exit code of a trainer that refuses its input
constexpr size_t kLastLines = 3;
constexpr std::string_view kSays = "kernelwright-trainer: ";

class SocketFolder {
 public:
  SocketFolder() {
    if (!unix_address(socket())) {
      throw EnvironmentError(socket() + " is too long for a socket: set TMPDIR to a shorter path");
    }
  }
  std::string socket() const { return (folder_.path() / "socket").string(); }

 private:
  const ScratchFolder folder_{"kw-model"};
};

std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.push_back(*entry);
  return out;
}

}  // namespace

std::string trainer_binary() {
  return environment_or("KERNELWRIGHT_TRAINER", built("kernelwright-trainer"));
}

class ModelServer::Impl {
 public:
  explicit Impl(ModelServerConfig config)
      : config_(std::move(config)), stop_(::eventfd(0, EFD_CLOEXEC)) {}

  ~Impl() {
    const uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    if (thread_.joinable()) thread_.join();
  }

  bool wait_until_ready(TimePoint deadline) {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { live(); });
    changed_.wait_until(lock, deadline, [&] { return state_ != State::kStarting; });
    if (state_ == State::kEnded) throw_fault();
    return state_ == State::kReady;
  }

  void throw_if_ended() {
    std::unique_lock lock(mutex_);
    // Its sockets close a moment before it is known how it ended.
    changed_.wait_for(lock, kExitPatience, [&] { return state_ != State::kReady; });
    if (state_ == State::kEnded) throw_fault();
  }

  std::string socket_path() const { return folder_.socket(); }

 private:
  enum class State { kStarting, kReady, kEnded };

  [[noreturn]] void throw_fault() const {
    if (models_fault_) throw InputError(fault_);
    throw EnvironmentError(fault_);
  }

  void change(State state) {
    const std::lock_guard lock(mutex_);
    state_ = state;
    changed_.notify_all();
  }

  // Runs the processes on a separate thread, as a process ends with the thread that started it.
  void live() {
    try {
      for (int restarts = 0; run(restarts) && restarts < kRestarts; ++restarts) {
        change(State::kStarting);
        if (is_stopped_within(kPause * (1 << restarts))) break;
      }
    } catch (const EnvironmentError& error) {
      const std::lock_guard lock(mutex_);
      fault_ = error.what();
    }
    change(State::kEnded);
  }

  bool is_stopped_within(milliseconds pause) const {
    pollfd entry = {stop_.get(), POLLIN, 0};
    return ::poll(&entry, 1, static_cast<int>(pause.count())) > 0;
  }

  // Runs one process. Returns true if it accepted requests and then ended without its owner's wish.
  bool run(int& restarts) {
    ::unlink(folder_.socket().c_str());  // left by a server that was killed
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) {
      throw EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
    }
    UniqueFd theirs(pipe[0]), ours(pipe[1]);  // the server ends when its stdin does
    OutputTail words;
    ProcessSpec spec;
    spec.argv = {
        config_.binary,   "serve",    "--model",      config_.model, "--socket",
        folder_.socket(), "--device", config_.device, "--rows",      std::to_string(config_.rows)};
    spec.environment = own_environment();
    spec.in = theirs.get();
    spec.err = words.write_end();
    Process process = Process::start(spec);
    theirs.reset();
    words.close_write_end();
    if (!listen_to(words)) {
      ours.reset();
      process.wait(deadline_in(kExitPatience));
      return false;
    }
    if (state_ == State::kReady && std::chrono::steady_clock::now() - ready_since_ > kSteady) {
      restarts = 0;
    }
    explain(process, words, restarts);
    return state_ == State::kReady && !models_fault_;
  }

  // Returns true when the server closes its stderr, or false when it is not wanted any more.
  bool listen_to(OutputTail& words) {
    std::string ready(kSays);
    ready += kServerIsReady;
    bool is_ready = false;
    while (true) {
      pollfd entries[] = {{words.read_end(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (::poll(entries, 2, -1) < 0) continue;
      if (entries[1].revents) return false;
      if (!words.drain()) return true;
      if (!is_ready && words.last_lines(20).find(ready) != std::string::npos) {
        is_ready = true;
        ready_since_ = std::chrono::steady_clock::now();
        change(State::kReady);
      }
    }
  }

  void explain(Process& process, const OutputTail& words, int restarts) {
    const auto status = process.wait(deadline_in(kExitPatience));
    process.kill();
    std::string said = words.last_lines(kLastLines);
    const std::lock_guard lock(mutex_);
    models_fault_ = status && WIFEXITED(*status) && WEXITSTATUS(*status) == kInputExit;
    const size_t at = said.rfind(kSays);
    if (models_fault_ && at != std::string::npos) {
      fault_ = said.substr(at + kSays.size());
      return;
    }
    fault_ = "the model's server " + (status ? describe_status(*status) : "closed its stderr") +
             (said.empty() ? "" : ": " + said);
    if (restarts > 0) fault_ += "; it was started " + std::to_string(restarts + 1) + " times";
  }

  const ModelServerConfig config_;
  const SocketFolder folder_;
  const UniqueFd stop_;  // readable when the server is not wanted any more
  std::mutex mutex_;     // of what follows
  std::condition_variable changed_;
  State state_ = State::kStarting;
  std::string fault_;
  bool models_fault_ = false;
  TimePoint ready_since_;  // of the thread
  std::thread thread_;     // last: it uses the others
};

ModelServer::ModelServer(ModelServerConfig config)
    : impl_(std::make_unique<Impl>(std::move(config))) {}
ModelServer::~ModelServer() = default;
bool ModelServer::wait_until_ready(TimePoint deadline) { return impl_->wait_until_ready(deadline); }
void ModelServer::throw_if_ended() { impl_->throw_if_ended(); }
std::string ModelServer::socket_path() const { return impl_->socket_path(); }

}  // namespace kw
