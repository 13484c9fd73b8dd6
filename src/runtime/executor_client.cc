#include "runtime/executor_client.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "formats/error.h"
#include "program/task_json.h"
#include "worker/channel.h"
#include "worker/process.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kExitPatience{2000};
constexpr milliseconds kPatience{2000};  // beside what is expected
constexpr int kUnfitExit = 3;  // of an executor that this machine cannot run, and that says why

// A request the executor did not survive. Killed: by somebody else, an operator or a system that
// ran out of memory.
struct ExecutorDied : std::runtime_error {
  explicit ExecutorDied(const std::string& what, bool by_somebody = false, bool too_late = false)
      : std::runtime_error(what), killed(by_somebody), late(too_late) {}
  bool killed, late;  // late: it did not answer in time
};
// A task that did not load: the executor's reply, for the report.
struct NotLoaded {
  std::string status, message;
};

template <class Report>
bool lacks_memory(const Report& report) {
  return report.status == "not-judged" && report.message.ends_with("out of memory");
}

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

// A thread that does what others ask, in order, while they wait.
class Server {
 public:
  Server() : thread_([this] { serve(); }) {}
  ~Server() {
    post(nullptr);
    thread_.join();
  }
  // What `work` returns or throws.
  template <class Work>
  auto call(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    post([&task] { task(); });  // it outlives the wait
    return result.get();
  }

 private:
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    news_.notify_one();
  }
  void serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return !queue_.empty(); });
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;  // last: it uses the others
};

// One executor process from its start to its death.
class Executor {
 public:
  explicit Executor(const ExecutorConfig& config) {
    auto [ours, theirs] = socket_pair(SOCK_STREAM);
    channel_.emplace(std::move(ours));
    ProcessSpec spec;
    spec.argv = {config.binary, "--socket",     "3",
                 "--backend",   config.backend, "--python",
                 config.python, "--worker-dir", config.worker_dir};
    if (!config.sandbox) spec.argv.push_back("--no-sandbox");
    if (config.wall_clock) spec.argv.push_back("--wall-clock");
    if (config.processes > 1) {
      spec.argv.insert(spec.argv.end(), {"--sharers", std::to_string(config.processes)});
    }
    spec.environment = own_environment();
    if (config.gpu >= 0) show_one_gpu(spec.environment, config.gpu);
    spec.err = stderr_.write_end();
    spec.fds = {theirs.get()};
    process_ = Process::start(spec);
    theirs.reset();
    stderr_.close_write_end();
  }
  ~Executor() {
    channel_.reset();  // it ends by itself when its socket closes, and tidies up
    process_.wait(deadline_in(kExitPatience));
  }

  // ExecutorDied when it does not take it in time.
  void send(const Frame& request, Deadline deadline) {
    switch (channel_->send(request, {}, deadline)) {
      case ChannelStatus::kOk:
        break;
      case ChannelStatus::kTimeout:
        die("did not take the request in time");
      default:
        die("");
    }
  }
  // The next answer, in the order of requests. ExecutorDied when there is none in time.
  Json receive(Deadline deadline) {
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

  // Kills it and throws. An empty `how` means that it ended by itself.
  [[noreturn]] void die(std::string how, bool late = false) {
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

  int greeted = 0;

 private:
  // Until an answer comes or the deadline passes; empties stderr, or a full pipe would stop it.
  void wait_for_news(Deadline deadline) {
    pollfd entries[] = {{channel_->fd(), POLLIN, 0},
                        {stderr_open_ ? stderr_.read_end() : -1, POLLIN, 0}};
    ::poll(entries, 2, poll_timeout(deadline));
    if (entries[1].revents) stderr_open_ = stderr_.drain();
  }

  OutputTail stderr_;
  bool stderr_open_ = true;
  Process process_;
  std::optional<FrameChannel> channel_;
};

}  // namespace

ExecutorConfig default_executor_config(const std::string& backend) {
  const WorkerConfig worker = default_worker_config();
  ExecutorConfig config;
  const char* binary = std::getenv("KERNELWRIGHT_EXECUTOR");
  config.binary = binary && *binary ? binary : KW_BUILD_DIR "/kernelwright-executor";
  config.backend = backend;
  config.python = worker.python;
  config.worker_dir = worker.worker_dir;
  return config;
}

// All of it on the server's thread: a process ends with the thread that started it.
class ExecutorClient::Impl {
 public:
  explicit Impl(ExecutorConfig config) : config_(std::move(config)) {}

  const Json& hello() {
    start();
    return hello_;
  }

  void hold(int id, std::shared_ptr<const Task> task) { tasks_.emplace(id, std::move(task)); }

  void unload(int id) {
    tasks_.erase(id);
    if (!executor_ || !loaded_.erase(id)) return;
    try {
      call({{{"kind", "unload"}, {"id", id}}, {}}, deadline_in(config_.start_deadline));
    } catch (const ExecutorDied&) {
      stop();
    }
  }

  // Loads what is missing and sends the request; `parse` reads the reply. An executor that somebody
  // kills says nothing of the request: it is made again, once. `next` is what will be requested of
  // the same tasks afterwards: the executor has it already when this one is done. `before` is
  // called when the executor is ready, before it is asked.
  template <class Report, class Parse>
  Report request(const Json& json, const std::vector<int>& tasks, milliseconds wait, Parse parse,
                 const Json* next = nullptr, const std::function<void()>& before = {}) {
    Ending ending;
    Report report = attempt<Report>(json, tasks, wait, parse, next, before, ending);
    if (ending.killed) {
      ending = {};
      report = attempt<Report>(json, tasks, wait, parse, next, before, ending);
      if (ending.killed) report.status = "not-judged";
    }
    late_ = ending.late;
    return report;
  }
  bool was_late() const { return late_; }  // the last request had no answer in time

  void trials(const std::vector<TrialRequest>& requests, milliseconds wait,
              const TakeReport& take) {
    struct AtTheEnd {
      std::function<void()> work;
      ~AtTheEnd() { work(); }
    };
    // Nobody waits for what is dropped, but others for the executor.
    milliseconds longest{0};
    const AtTheEnd drop{
        [&] { drop_answer(deadline_in(std::min(wait, 20 * longest + kPatience))); }};
    std::vector<Json> texts;
    for (const TrialRequest& request : requests) texts.push_back(to_json(request));
    for (size_t i = 0; i < requests.size(); ++i) {
      const Json* next = i > 0 && i + 1 < requests.size() ? &texts[i + 1] : nullptr;
      const std::vector<int> tasks = {requests[i].reference, requests[i].candidate};
      const auto start = std::chrono::steady_clock::now();
      TrialReport report =
          request<TrialReport>(texts[i], tasks, wait, trial_report_from_json, next);
      longest = std::max(longest, std::chrono::duration_cast<milliseconds>(
                                      std::chrono::steady_clock::now() - start));
      if (!take(i, std::move(report))) break;
    }
  }

  // Waits until nothing is being set up: that uses the device and a core, which times would show.
  void settle() {
    for (std::unique_ptr<Executor>* executor : {&executor_, &spare_}) {
      try {
        if (*executor) make_ready(**executor);
      } catch (const EnvironmentError&) {  // a new one says why, if it is so
        executor == &spare_ ? spare_.reset() : stop();
      }
    }
  }

  // What the process keeps of the device's memory for later requests, where there is one.
  void release() {
    if (!executor_) return;
    try {
      const Json reply = call({{{"kind", "release"}}, {}}, deadline_in(config_.start_deadline));
      if (reply.value("status", "") != "ok") stop();  // it has lost its device
    } catch (const ExecutorDied&) {
      stop();
    }
  }

  std::map<std::string, double> busy_seconds() const { return busy_; }
  int restarts() const { return std::max(0, starts_ - 1); }

 private:
  struct Busy {
    explicit Busy(double& seconds) : seconds(seconds) {}
    ~Busy() {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      seconds += taken.count();
    }
    double& seconds;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  };

  struct Ending {
    bool killed = false, late = false;
  };

  template <class Report, class Parse>
  Report attempt(const Json& json, const std::vector<int>& tasks, milliseconds wait, Parse parse,
                 const Json* next, const std::function<void()>& before, Ending& ending) {
    Report report;
    start();
    settle_own();
    if (before) before();
    try {
      const Deadline deadline = deadline_in(wait);
      for (int id : tasks) require(id, deadline);
      const Json reply = call({json, {}}, deadline, next);
      report = parse(JsonReader(reply, "reply"));
    } catch (const NotLoaded& fault) {
      report.status = fault.status;
      report.message = fault.message;
    } catch (const ExecutorDied& death) {
      report.status = "died";
      report.message = death.what();
      ending = {death.killed, death.late};
    } catch (const InputError& error) {
      report = Report();
      report.status = "died";
      report.message = std::string("the executor's answer is not valid: ") + error.what();
    }
    if (report.status == "died") stop();
    return report;
  }

  // The executor's reply to `request`, which may have been sent ahead as an earlier one's `next`;
  // what it takes, however it ends, is time that it was busy.
  Json call(const Frame& request, Deadline deadline, const Json* next = nullptr) {
    const Busy busy(busy_[request.json.at("kind").get<std::string>()]);
    try {
      if (!std::exchange(sent_ahead_, false)) executor_->send(request, deadline);
      if (next) {
        executor_->send({*next, {}}, deadline);
        sent_ahead_ = true;
      }
      return executor_->receive(deadline);
    } catch (...) {
      stop();  // or an answer that is still to come would be taken for the next one's
      throw;
    }
  }

  // Of a request that was sent ahead and is not wanted any more.
  void drop_answer(Deadline deadline) {
    if (!std::exchange(sent_ahead_, false)) return;
    const Busy busy(busy_["trial"]);
    try {
      executor_->receive(deadline);
    } catch (const std::exception&) {
      stop();
    }
  }

  // It answers a second greeting when its libraries are loaded.
  void make_ready(Executor& executor) const {
    while (executor.greeted < 2) greeting_of(executor);
  }
  // No request's deadline is to count that. One that dies of it is replaced, once.
  void settle_own() {
    try {
      make_ready(*executor_);
    } catch (const EnvironmentError&) {
      stop();
      start();
      make_ready(*executor_);
    }
  }

  // After a first death a spare process is kept: where many candidates break their executor, as in
  // reinforcement learning, nobody waits for PyTorch and the device to be set up each time.
  void start() {
    if (executor_) return;
    executor_ = std::move(spare_);
    try {
      if (executor_) hello_ = greeting_of(*executor_);
    } catch (const EnvironmentError&) {  // it died while it waited; a new one says why, if it is so
      executor_.reset();
    }
    if (!executor_) {
      auto made = std::make_unique<Executor>(config_);
      hello_ = greeting_of(*made);
      executor_ = std::move(made);
    }
    if (++starts_ == 1) return;
    spare_ = std::make_unique<Executor>(config_);
  }

  // What it says when it is set up. EnvironmentError when it does not start.
  Json greeting_of(Executor& executor) const {
    try {
      const Deadline deadline = deadline_in(config_.start_deadline);
      executor.send({{{"kind", "hello"}}, {}}, deadline);
      const Json hello = executor.receive(deadline);
      const JsonReader in(hello, "hello");
      if (in.at("status").string() == "ok") {
        ++executor.greeted;
        return hello;
      }
      throw EnvironmentError("the executor does not start: " + in.at("message").string());
    } catch (const ExecutorDied& death) {
      throw EnvironmentError(death.what());
    } catch (const InputError& error) {
      throw EnvironmentError(std::string("the executor's greeting is not valid: ") + error.what());
    }
  }

  void stop() {
    executor_.reset();
    loaded_.clear();
    sent_ahead_ = false;
  }

  void require(int id, Deadline deadline) {
    if (loaded_.count(id)) return;
    auto task = tasks_.find(id);
    if (task == tasks_.end()) throw std::logic_error("no task has the id " + std::to_string(id));
    Frame request = task_to_frame(*task->second);
    request.json["kind"] = "load";
    request.json["id"] = id;
    const Json reply = call(request, deadline);
    const JsonReader in(reply, "load");
    const std::string status = in.at("status").string();
    if (status != "ok") throw NotLoaded{status, in.at("message").string()};
    loaded_.insert(id);
  }

  ExecutorConfig config_;
  std::unique_ptr<Executor> executor_, spare_;
  Json hello_;
  bool late_ = false;
  std::map<int, std::shared_ptr<const Task>> tasks_;
  std::set<int> loaded_;     // by the present executor
  bool sent_ahead_ = false;  // to it, the request that comes next
  int starts_ = 0;
  std::map<std::string, double> busy_;  // seconds by kind of request
};

struct ExecutorClient::Served {
  explicit Served(ExecutorConfig config) : impl(std::make_unique<Impl>(std::move(config))) {}
  ~Served() {
    server.call([&] { impl.reset(); });
  }
  std::unique_ptr<Impl> impl;
  // What the process is to know from its next call on; under the client's mutex_.
  std::vector<std::pair<int, std::shared_ptr<const Task>>> given;
  Server server;
};

ExecutorClient::ExecutorClient(ExecutorConfig config) {
  if (config.processes < 1) throw std::logic_error("an executor has a process");
  for (int i = 0; i < config.processes; ++i) served_.push_back(std::make_unique<Served>(config));
  homes_.resize(served_.size());
}
ExecutorClient::~ExecutorClient() = default;

template <class Work>
auto ExecutorClient::call_process(size_t process, Turn turn, Work work) const {
  Served& served = *served_[process];
  return served.server.call([&] {
    std::unique_lock next(next_);
    std::shared_lock together(device_, std::defer_lock);
    std::unique_lock alone(device_, std::defer_lock);
    if (turn == Turn::kTogether) {
      together.lock();
    } else {
      alone.lock();
    }
    next.unlock();
    return work(*served.impl);
  });
}

template <class Work>
auto ExecutorClient::call_for(const std::vector<int>& tasks, Turn turn, Work work) {
  std::unique_lock lock(mutex_);
  const auto held = [&](int id) -> Held& {
    const auto found = held_.find(id);
    if (found == held_.end()) throw std::logic_error("no task has the id " + std::to_string(id));
    return found->second;
  };
  std::optional<size_t>& home = held(tasks.at(0)).home;
  if (!home) {
    home = std::min_element(homes_.begin(), homes_.end()) - homes_.begin();
    ++homes_[*home];
  }
  const size_t process = *home;
  for (int id : tasks) {
    Held& task = held(id);
    if (task.at.insert(process).second) served_[process]->given.emplace_back(id, task.task);
  }
  lock.unlock();
  return call_process(process, turn, [&](Impl& impl) {
    std::unique_lock taking(mutex_);
    const auto given = std::exchange(served_[process]->given, {});
    taking.unlock();
    for (const auto& [id, task] : given) impl.hold(id, task);
    return work(impl);
  });
}

Json ExecutorClient::hello() {
  std::unique_lock lock(mutex_);
  if (!hello_.is_null()) return hello_;
  lock.unlock();
  Json hello = call_process(0, Turn::kTogether, [](Impl& impl) { return impl.hello(); });
  lock.lock();
  return hello_ = std::move(hello);
}

int ExecutorClient::load(Task task) {
  const std::lock_guard lock(mutex_);
  held_[++last_id_].task = std::make_shared<const Task>(std::move(task));
  return last_id_;
}

void ExecutorClient::unload(int id) {
  std::unique_lock lock(mutex_);
  const auto node = held_.extract(id);
  if (node.empty()) return;
  if (node.mapped().home) --homes_[*node.mapped().home];
  lock.unlock();
  for (size_t process : node.mapped().at) {
    call_process(process, Turn::kTogether, [&](Impl& impl) { impl.unload(id); });
  }
}

int ExecutorClient::restarts() const {
  int out = 0;
  for (size_t i = 0; i < served_.size(); ++i) {
    out += call_process(i, Turn::kTogether, [](Impl& impl) { return impl.restarts(); });
  }
  return out;
}

std::map<std::string, double> ExecutorClient::busy_seconds() const {
  std::map<std::string, double> out;
  for (size_t i = 0; i < served_.size(); ++i) {
    for (const auto& [kind, seconds] :
         call_process(i, Turn::kTogether, [](Impl& impl) { return impl.busy_seconds(); })) {
      out[kind] += seconds / static_cast<double>(served_.size());
    }
  }
  return out;
}

TrialReport ExecutorClient::trial(const TrialRequest& request, milliseconds deadline) {
  TrialReport out;
  trials({request}, deadline, [&](size_t, TrialReport report) {
    out = std::move(report);
    return false;
  });
  return out;
}

// For who has the device alone: nobody else touches the others now.
void ExecutorClient::release_others(const Impl& own) const {
  for (const auto& served : served_) {
    if (served->impl.get() != &own) served->impl->release();
  }
}

// What `ask` says. Where memory was lacking, for the request or for a process to start, once more
// with what the others kept. For who has the device alone.
template <class Report, class Ask>
Report ExecutorClient::with_room(const Impl& own, const Ask& ask) const {
  if (served_.size() == 1) return ask();
  try {
    Report report = ask();
    if (!lacks_memory(report)) return report;
  } catch (const EnvironmentError&) {
  }
  release_others(own);
  return ask();
}

bool ExecutorClient::is_large(int task) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(task);
  return found != held_.end() && found->second.large;
}
void ExecutorClient::note_large(int task) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(task);
  if (found != held_.end()) found->second.large = true;
}

// What had no answer in time may have waited for others' kernels, and what had no memory for
// theirs: it is tried again, and the rest after it, with the device alone and what others kept. Of
// a reference that once lacked memory all later trials have the device alone at once.
void ExecutorClient::trials(const std::vector<TrialRequest>& requests, milliseconds deadline,
                            const TakeReport& take) {
  if (requests.empty()) return;
  const std::vector<int> tasks = {requests[0].reference, requests[0].candidate};
  size_t taken = 0;
  bool taking = false;
  // Those that are left; whether that is the end of them. Unless it is the last attempt, one that
  // was late or lacked memory is left too.
  const bool alone = is_large(tasks[0]);  // from the first attempt on
  const auto attempt = [&](Impl& impl, bool last) {
    const size_t first = taken;
    bool again = false;
    impl.trials({requests.begin() + static_cast<long>(first), requests.end()}, deadline,
                [&](size_t i, TrialReport report) {
                  const bool lacking = lacks_memory(report);
                  if (lacking && !report.message.starts_with("candidate")) note_large(tasks[0]);
                  again = !last && (lacking || (!alone && impl.was_late()));
                  if (again) return false;
                  taken = first + i + 1;
                  taking = true;
                  const bool more = take(first + i, std::move(report));
                  taking = false;
                  return more;
                });
    return !again;
  };
  if (served_.size() == 1) {
    call_for(tasks, Turn::kTogether, [&](Impl& impl) { return attempt(impl, true); });
    return;
  }
  try {
    const Turn turn = alone ? Turn::kAlone : Turn::kTogether;
    if (call_for(tasks, turn, [&](Impl& impl) { return attempt(impl, false); })) return;
  } catch (const EnvironmentError&) {
    if (taking) throw;  // else it did not start
  }
  call_for(tasks, Turn::kAlone, [&](Impl& impl) {
    release_others(impl);
    return attempt(impl, true);
  });
}

TimeReport ExecutorClient::time(const TimeRequest& request, milliseconds deadline) {
  return call_for(request.tasks, Turn::kAlone, [&](Impl& impl) {
    // The others too, which nobody else touches now.
    const auto settle_all = [this] {
      for (const auto& served : served_) served->impl->settle();
    };
    const auto read = [&](const JsonReader& in) {
      TimeReport report = time_report_from_json(in);
      const size_t expected = request.tasks.size() + request.packages.size();
      if (report.status == "ok" && report.device_ms.size() != expected) {
        in.fail("expected times of " + std::to_string(expected) + " programs");
      }
      return report;
    };
    return with_room<TimeReport>(impl, [&] {
      return impl.request<TimeReport>(to_json(request), request.tasks, deadline, read, nullptr,
                                      settle_all);
    });
  });
}

ExamineReport ExecutorClient::examine(const ExamineRequest& request, milliseconds deadline) {
  const auto ask = [&](Impl& impl) {
    return impl.request<ExamineReport>(to_json(request), {request.task}, deadline,
                                       examine_report_from_json);
  };
  try {
    ExamineReport report = call_for({request.task}, Turn::kTogether, ask);
    if (served_.size() == 1 || !lacks_memory(report)) return report;
  } catch (const EnvironmentError&) {
    if (served_.size() == 1) throw;
  }
  return call_for({request.task}, Turn::kAlone, [&](Impl& impl) {
    release_others(impl);
    return ask(impl);
  });
}

}  // namespace kw
