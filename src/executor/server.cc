#include "executor/server.h"

#include <utility>

#include "executor/trial/bare.h"
#include "executor/trial/examine.h"
#include "formats/base/error.h"
#include "program/task_json.h"

namespace kw::exec {
namespace {

// Returns what `read` makes of a request. The supervisor wrote it, so one that is not understood
// says nothing about the candidate.
template <class Read>
auto understood(const Read& read) {
  try {
    return read();
  } catch (const InputError& error) {
    throw NotJudged("the executor does not understand kernelwright's request (" +
                    std::string(error.what()) + "): are the two of one build?");
  }
}

Json done() { return {{"status", status_name(ReplyStatus::kOk)}}; }

}  // namespace

Json Server::hello() const {
  Json out = backend_.describe();
  out["status"] = status_name(ReplyStatus::kOk);
  out["torch"] = KW_TORCH_VERSION;  // main() has checked that it is the one loaded
  return out;
}

Json Server::load(const Frame& request) {
  const int id = static_cast<int>(JsonReader(request.json, "load").at("id").integer(0, INT32_MAX));
  tasks_.erase(id);
  trials_.forget(id);
  Task task = understood([&] { return task_from_frame(request); });
  try {
    tasks_[id] = std::make_unique<LoadedTask>(std::move(task), backend_);
  } catch (...) {
    tasks_.erase(id);
    throw;
  }
  return done();
}

LoadedTask& Server::task(int id) {
  const auto found = tasks_.find(id);
  if (found == tasks_.end()) throw InputError("task " + std::to_string(id) + " is not loaded");
  return *found->second;
}

Json Server::dispatch(const Frame& request) {
  const JsonReader in(request.json, "request");
  const std::string kind = in.at("kind").string();
  if (kind == "hello") return hello();
  if (kind == "load") return load(request);
  if (kind == "unload") {
    const int id = static_cast<int>(in.at("id").integer(0, INT32_MAX));
    tasks_.erase(id);
    trials_.forget(id);
    return done();
  }
  if (kind == "release") {
    trials_.forget_all();
    backend_.release_memory();
    return done();
  }
  if (kind == "trial") {
    const TrialRequest trial = understood([&] { return trial_request_from_json(in); });
    return to_json(trials_.run(trial, task(trial.reference), task(trial.candidate)));
  }
  if (kind == "examine") {
    const ExamineRequest asked = understood([&] { return examine_request_from_json(in); });
    return to_json(examine(asked, task(asked.task), backend_));
  }
  if (kind == "bare") {
    const BareRequest bare = understood([&] { return bare_request_from_json(in); });
    run_bare(bare, task(bare.reference), task(bare.candidate), backend_);
    return done();
  }
  if (kind == "time") {
    if (!timer_) {
      throw NotJudged("this backend has no clock to judge by");
    }
    const TimeRequest time = understood([&] { return time_request_from_json(in); });
    std::vector<LoadedTask*> tasks;
    for (int id : time.tasks) tasks.push_back(&task(id));
    return to_json(timer_(time, tasks));
  }
  throw InputError("unknown kind of request \"" + kind + "\"");
}

Frame Server::answer(const Frame& request) {
  const auto failed = [](ReplyStatus status, const std::string& message) {
    return Frame{to_json(Reply{status, Cause::kNone, message}), {}};
  };
  try {
    try {
      return {dispatch(request), {}};
    } catch (const NotJudged& error) {
      backend_.check_alive();
      return failed(ReplyStatus::kNotJudged, error.what());
    } catch (const DeviceLost&) {
      throw;
    } catch (const std::exception& error) {
      backend_.check_alive();
      if (lacks_memory(error)) return failed(ReplyStatus::kNotJudged, "out of memory");
      return failed(ReplyStatus::kFailed, error.what());
    }
  } catch (const DeviceLost& error) {
    lost_ = true;
    return failed(ReplyStatus::kDied, error.what());
  }
}

void Server::get_ready() {
  try {
    backend_.get_ready();
  } catch (const std::exception&) {  // the request that needs it will report the error
  }
}

void Server::keep_own_part() {
  if (lost_) return;
  try {
    backend_.keep_own_part();
  } catch (const std::exception&) {  // the next request will report the error
  }
}

int Server::serve(FrameChannel& channel) {
  while (true) {
    FrameChannel::Received received = channel.receive();
    if (received.status == ChannelStatus::kClosed) return 0;
    if (!received.ok()) {
      throw EnvironmentError("the supervisor's request is no frame: " + received.message);
    }
    const Frame reply = answer(received.frame);
    keep_own_part();  // before the reply, because the next timing must have the device alone
    if (channel.send(reply) != ChannelStatus::kOk) return 0;
    if (lost_) return kLostExit;
    if (!std::exchange(ready_, true)) get_ready();
  }
}

}  // namespace kw::exec
