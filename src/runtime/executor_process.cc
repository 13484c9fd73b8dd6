#include "runtime/executor_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "formats/base/error.h"
#include "formats/install.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kExitPatience{2000};
constexpr int kUnfitExit = 3;  // of an executor that this machine cannot run, and that says why

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.push_back(*entry);
  return environment;
}

// An environment in which only one GPU is seen: the entry with this number of those that are seen
// here. InputError where the list is shorter.
void show_one_gpu(std::vector<std::string>& environment, int gpu) {
  const std::string key = "CUDA_VISIBLE_DEVICES=";
  std::string name = std::to_string(gpu);
  if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES")) {
    std::istringstream entries(list);
    for (int i = 0; i <= gpu; ++i) {
      if (!std::getline(entries, name, ',')) {
        throw InputError("GPU " + std::to_string(gpu) + " was asked for, and " + key + list);
      }
    }
  }
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(key); });
  environment.push_back(key + name);
}

}  // namespace

ExecutorConfig default_executor_config(const std::string& backend) {
  const WorkerConfig worker = default_worker_config();
  ExecutorConfig config;
  config.binary = environment_or("KERNELWRIGHT_EXECUTOR", built("kernelwright-executor"));
  config.backend = backend;
  config.python = worker.python;
  config.worker_dir = worker.worker_dir;
  return config;
}

ExecutorProcess::ExecutorProcess(const ExecutorConfig& config)
    : start_deadline_(config.start_deadline) {
  auto [ours, theirs] = socket_pair(SOCK_STREAM);
  channel_.emplace(std::move(ours));
  ProcessSpec spec;
  spec.argv = config.wrapper;
  spec.argv.insert(spec.argv.end(), {config.binary, "--socket", "3", "--backend", config.backend,
                                     "--python", config.python, "--worker-dir", config.worker_dir});
  spec.kill_session = !config.wrapper.empty();
  if (!config.sandbox) spec.argv.push_back("--no-sandbox");
  if (!config.loads_ahead) spec.argv.push_back("--no-loading-ahead");
  if (config.wall_clock) spec.argv.push_back("--wall-clock");
  if (config.processes > 1) {
    spec.argv.insert(spec.argv.end(), {"--sharers", std::to_string(config.processes)});
  }
  spec.environment = own_environment();
  spec.environment.insert(spec.environment.end(), config.variables.begin(), config.variables.end());
  if (config.gpu >= 0) show_one_gpu(spec.environment, config.gpu);
  spec.err = stderr_.write_end();
  spec.fds = {theirs.get()};
  UniqueFd zygote;
  if (config.workers && config.backend == "cpu") {
    zygote = config.workers->lend(stderr_.write_end());
    spec.fds.push_back(zygote.get());
    spec.argv.insert(spec.argv.end(), {"--zygote", "4"});
  }
  process_ = Process::start(spec);
  theirs.reset();
  stderr_.close_write_end();
}

ExecutorProcess::~ExecutorProcess() { end(deadline_in(kExitPatience)); }

bool ExecutorProcess::end(Deadline deadline) {
  channel_.reset();  // it ends by itself when its socket closes, and tidies up
  return process_.wait(deadline).has_value();
}

void ExecutorProcess::send(const Frame& request, Deadline deadline) {
  switch (channel_->send(request, {}, deadline)) {
    case ChannelStatus::kOk:
      break;
    case ChannelStatus::kTimeout:
      die("did not take the request in time");
    default:
      die("");
  }
}

Json ExecutorProcess::receive(Deadline deadline) {
  while (true) {
    // What is there now (the last round may have read two answers); the rest of a long answer
    // comes with the next round.
    auto received = channel_->receive(std::chrono::steady_clock::now());
    if (received.ok()) return std::move(received.frame.json);
    if (received.status == ChannelStatus::kClosed) die("");
    if (received.status == ChannelStatus::kBroken) die("sent no frame: " + received.message);
    if (std::chrono::steady_clock::now() >= deadline) die("did not answer in time", true);
    wait_for_news(deadline);
  }
}

Json ExecutorProcess::greeting() {
  try {
    const Deadline deadline = deadline_in(start_deadline_);
    send({{{"kind", "hello"}}, {}}, deadline);
    const Json hello = receive(deadline);
    const Reply reply = reply_from_json(JsonReader(hello, "hello"));
    if (!reply.ok()) throw EnvironmentError("the executor does not start: " + reply.message);
    ++greeted_;
    return hello;
  } catch (const ExecutorDied& death) {
    throw EnvironmentError(death.what());
  } catch (const InputError& error) {
    throw EnvironmentError(std::string("the executor's greeting is not valid: ") + error.what());
  }
}

void ExecutorProcess::make_ready() {
  while (greeted_ < 2) greeting();
}

void ExecutorProcess::die(std::string how, bool late) {
  bool unfit = false, killed = false;
  if (how.empty()) {
    auto status = process_.wait(deadline_in(kExitPatience));
    unfit = status && WIFEXITED(*status) && WEXITSTATUS(*status) == kUnfitExit;
    killed = status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
    how = status ? describe_status(*status) : "closed its socket";
  } else {
    how += " and was killed";
  }
  process_.kill();
  stderr_.drain();
  const std::string words = stderr_.last_lines(3);
  // What it says of the machine before it ends needs no frame.
  constexpr std::string_view kSays = "kernelwright-executor: ";
  const size_t says = words.rfind(kSays);
  if (unfit && says != std::string::npos) throw ExecutorDied(words.substr(says + kSays.size()));
  throw ExecutorDied("the executor " + how + (words.empty() ? "" : ": " + words), killed, late);
}

// Until an answer comes or the deadline passes; empties stderr, or a full pipe would stop it.
void ExecutorProcess::wait_for_news(Deadline deadline) {
  pollfd entries[] = {{channel_->fd(), POLLIN, 0},
                      {stderr_open_ ? stderr_.read_end() : -1, POLLIN, 0}};
  ::poll(entries, 2, poll_timeout(deadline));
  if (entries[1].revents) stderr_open_ = stderr_.drain();
}

}  // namespace kw
