#include "runtime/lasting_executor.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{2000};  // in addition to what is expected

Reply died(std::string message) { return {ReplyStatus::kDied, Cause::kNone, std::move(message)}; }

}  // namespace

struct LastingExecutor::Busy {
  explicit Busy(double& seconds) : seconds(seconds) {}
  ~Busy() {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    seconds += taken.count();
  }
  double& seconds;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

const Json& LastingExecutor::hello() {
  start();
  return hello_;
}

void LastingExecutor::unload(int id) {
  tasks_.erase(id);
  if (!executor_ || !loaded_.erase(id)) return;
  try {
    call(Json{{"kind", "unload"}, {"id", id}}, deadline_in(config_.start_deadline));
  } catch (const ExecutorDied&) {
    stop();
  }
}

void LastingExecutor::trials(const std::vector<TrialRequest>& requests, size_t first,
                             milliseconds wait, const std::function<bool()>& others_wait,
                             const std::function<bool(size_t, TrialReport)>& take) {
  struct AtTheEnd {
    std::function<void()> work;
    ~AtTheEnd() { work(); }
  };
  // No caller waits for an answer that is dropped, but others may wait for the executor.
  milliseconds longest{0};
  const AtTheEnd drop{[&] { drop_answer(deadline_in(std::min(wait, 20 * longest + kPatience))); }};
  Json text = to_json(requests.at(first)), next;
  for (size_t i = first; i < requests.size(); ++i, text = std::move(next)) {
    const bool last = i + 1 == requests.size();
    if (!last) next = to_json(requests[i + 1]);
    const bool ahead = i > 0 && !last && !others_wait();
    const std::vector<int> tasks = {requests[i].reference, requests[i].candidate};
    const auto start = std::chrono::steady_clock::now();
    TrialReport report = request<TrialReport>({text, tasks, ahead ? &next : nullptr, {}}, wait,
                                              trial_report_from_json);
    longest = std::max(longest, std::chrono::duration_cast<milliseconds>(
                                    std::chrono::steady_clock::now() - start));
    if (!take(i, std::move(report)) || (!ahead && others_wait())) break;
  }
}

void LastingExecutor::settle() {
  for (std::unique_ptr<ExecutorProcess>* executor : {&executor_, &spare_}) {
    try {
      if (*executor) (*executor)->make_ready();
    } catch (const EnvironmentError&) {  // if none can start, the next one says so
      executor == &spare_ ? spare_.reset() : stop();
    }
  }
}

void LastingExecutor::release() {
  if (!executor_) return;
  try {
    const Json reply = call(Json{{"kind", "release"}}, deadline_in(config_.start_deadline));
    if (!reply_from_json(JsonReader(reply, "release")).ok()) stop();  // it has lost its device
  } catch (const ExecutorDied&) {
    stop();
  } catch (const InputError&) {  // the reply makes no sense
    stop();
  }
}

std::optional<LastingExecutor::Fault> LastingExecutor::ask(const Asked& asked, milliseconds wait,
                                                           const Read& read) {
  std::optional<Fault> fault = attempt(asked, wait, read);
  if (fault && fault->killed) {
    fault = attempt(asked, wait, read);
    if (fault && fault->killed) fault->reply.status = ReplyStatus::kNotJudged;
  }
  late_ = fault && fault->late;
  return fault;
}

std::optional<LastingExecutor::Fault> LastingExecutor::attempt(const Asked& asked,
                                                               milliseconds wait,
                                                               const Read& read) {
  start();
  settle_own();
  if (asked.before) asked.before();
  std::optional<Fault> fault;
  ReplyStatus status = ReplyStatus::kDied;
  try {
    const Deadline deadline = deadline_in(wait);
    for (size_t i = 0; i < asked.tasks.size() && !fault; ++i) {
      fault = require(asked.tasks[i], deadline);
    }
    if (!fault) {
      const Json reply = call(asked.json, deadline, asked.next);
      status = read(JsonReader(reply, "reply"));
    }
  } catch (const ExecutorDied& death) {
    const bool named = death.late && !config_.limit_flag.empty();
    fault = {died(death.what() + (named ? " (" + config_.limit_flag + ")" : std::string())),
             death.killed, death.late};
  } catch (const InputError& error) {
    fault = {died(std::string("the executor's answer is not valid: ") + error.what())};
  }
  if ((fault ? fault->reply.status : status) == ReplyStatus::kDied) stop();
  return fault;
}

// Returns the executor's reply to `request`, which may have been sent ahead as an earlier request's
// `next`. The time this takes counts as busy, however it ends.
Json LastingExecutor::call(const Frame& request, Deadline deadline, const Json* next) {
  const Busy busy(busy_[request.json.at("kind").get<std::string>()]);
  try {
    if (!std::exchange(sent_ahead_, false)) executor_->send(request, deadline);
    if (next) {
      executor_->send({*next, {}}, deadline);
      sent_ahead_ = true;
    }
    return executor_->receive(deadline);
  } catch (...) {
    stop();  // else an answer that is still to come would be taken for the next request's
    throw;
  }
}

Json LastingExecutor::call(const Json& request, Deadline deadline, const Json* next) {
  return call(Frame{request, {}}, deadline, next);
}

// Drops the answer to a request that was sent ahead and is not wanted any more.
void LastingExecutor::drop_answer(Deadline deadline) {
  if (!std::exchange(sent_ahead_, false)) return;
  const Busy busy(busy_["trial"]);
  try {
    executor_->receive(deadline);
  } catch (const std::exception&) {
    stop();
  }
}

// Waits until libraries are loaded, as no request's deadline includes that. A process that dies of
// it is replaced once.
void LastingExecutor::settle_own() {
  try {
    executor_->make_ready();
  } catch (const EnvironmentError&) {
    stop();
    start();
    executor_->make_ready();
  }
}

// Takes the spare process or starts one. After the first death there is always a spare. In
// reinforcement learning many candidates break their executor, and the set-up of PyTorch and the
// device would delay every next one.
void LastingExecutor::start() {
  if (executor_) return;
  executor_ = std::move(spare_);
  try {
    if (executor_) hello_ = executor_->greeting();
  } catch (
      const EnvironmentError&) {  // it died while it waited; if one cannot start, the next says so
    executor_.reset();
  }
  if (!executor_) {
    auto made = std::make_unique<ExecutorProcess>(config_);
    hello_ = made->greeting();
    executor_ = std::move(made);
  }
  if (++starts_ == 1) return;
  spare_ = std::make_unique<ExecutorProcess>(config_);
}

void LastingExecutor::stop() {
  executor_.reset();
  loaded_.clear();
  sent_ahead_ = false;
}

// Loads a task. Returns what is wrong with it if the executor does not load it.
std::optional<LastingExecutor::Fault> LastingExecutor::require(int id, Deadline deadline) {
  if (loaded_.contains(id)) return std::nullopt;
  const auto task = tasks_.find(id);
  if (task == tasks_.end()) throw std::logic_error("no task has the id " + std::to_string(id));
  Frame request = task_to_frame(*task->second);
  request.json["kind"] = "load";
  request.json["id"] = id;
  const Json reply = call(request, deadline);
  Reply loaded = reply_from_json(JsonReader(reply, "load"));
  if (!loaded.ok()) return Fault{std::move(loaded)};
  loaded_.insert(id);
  return std::nullopt;
}

}  // namespace kw
