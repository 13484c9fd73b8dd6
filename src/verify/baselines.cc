#include "verify/baselines.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "formats/json.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

constexpr std::chrono::minutes kBuildLimit{5};
constexpr std::chrono::minutes kStartPatience{3};  // importing torch from a cold disk takes a while

// The whole environment: Inductor wants HOME, PATH, a compiler and its caches.
std::vector<std::string> own_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) out.emplace_back(*entry);
  return out;
}

Json request_json(const BaselineRequest& request, size_t number, const std::string& package) {
  Json names = Json::array();
  for (const StateEntry& entry : request.state) names.push_back(entry.names);
  return {{"request", number},
          {"package", package},
          {"source", request.model.text},
          {"folder", request.model.folder.string()},
          {"class", request.model.cls},
          {"state", names},
          {"inputs", request.inputs},
          {"max_autotune", request.max_autotune},
          {"seconds", std::chrono::seconds(kBuildLimit).count()}};
}

}  // namespace

Baselines::Baselines(const std::string& device, int parallel) : parallel_(parallel) {
  auto [ours, theirs] = socket_pair(SOCK_STREAM);
  const WorkerConfig worker = default_worker_config();
  ProcessSpec spec;
  spec.argv = {worker.python, worker.worker_dir + "/baseline.py", "--device", device,
               "--parallel",  std::to_string(parallel),           "--socket", "3"};
  spec.environment = own_environment();
  spec.err = tail_.write_end();
  spec.fds = {theirs.get()};
  process_ = Process::start(spec);
  tail_.close_write_end();
  channel_.emplace(std::move(ours));
}

std::vector<std::string> Baselines::build(const std::vector<BaselineRequest>& requests,
                                          const std::filesystem::path& folder) {
  // No request waits longer than for all that may run before it.
  const auto rounds = static_cast<long>(requests.size()) / parallel_ + 1;
  const Deadline deadline = deadline_in(kStartPatience + rounds * (kBuildLimit + kBuildLimit / 10));
  const auto package = [&](size_t i) {
    return (folder / ("reference" + std::to_string(i) + ".pt2")).string();
  };
  std::vector<std::string> out(requests.size());
  std::vector<std::string> errors(requests.size(), "the builder did not answer");
  for (size_t i = 0; i < requests.size() && channel_; ++i) {
    keep(channel_->send({request_json(requests[i], i, package(i)), {}}, {}, deadline));
  }
  for (size_t answered = 0; answered < requests.size() && channel_; ++answered) {
    const FrameChannel::Received reply = next_answer(deadline);
    if (!keep(reply.status)) break;
    const JsonReader in(reply.frame.json, "the builder of torch.compile's packages");
    const auto i =
        static_cast<size_t>(in.at("request").integer(0, static_cast<int64_t>(requests.size()) - 1));
    errors[i] = in.at("error").is_null() ? "" : one_line(in.at("error").string());
    if (errors[i].empty()) out[i] = package(i);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!out[i].empty()) continue;
    const std::string said = channel_ ? "" : tail_.last_lines(2);
    std::cerr << "note: no torch.compile baseline of " << requests[i].model.file << ": "
              << errors[i] << (said.empty() ? "" : "; " + said) << "\n";
  }
  return out;
}

FrameChannel::Received Baselines::next_answer(Deadline deadline) {
  for (;;) {
    tail_.drain();
    const Deadline soon = deadline_in(std::chrono::milliseconds(100));
    FrameChannel::Received answer = channel_->receive(std::min(soon, deadline));
    if (answer.status != ChannelStatus::kTimeout) return answer;
    if (std::chrono::steady_clock::now() >= deadline) return answer;
  }
}

bool Baselines::keep(ChannelStatus status) {
  if (status == ChannelStatus::kOk) return true;
  tail_.drain();
  process_.kill();
  channel_.reset();
  return false;
}

}  // namespace kw
