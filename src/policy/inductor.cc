#include "policy/inductor.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/scratch_folder.h"
#include "policy/chat/prompt.h"
#include "policy/task_key.h"
#include "program/python/step_writer.h"
#include "worker/services/compile_server.h"

namespace kw {
namespace {

Json inputs_json(const Program& program) {
  Json out = Json::array();
  for (const ValueId id : program.inputs) {
    const Value& value = program.values[id];
    out.push_back({{"dtype", dtype_name(value.dtype)},
                   {"shape", value.shape},
                   {"strides", value.strides},
                   {"offset", value.offset}});
  }
  return out;
}

class Inductor : public Policy {
 public:
  explicit Inductor(const InductorOptions& options)
      : options_(options), server_(options.device, options.at_once) {}

  std::string name() const override { return "inductor"; }
  // Callers wait for it, even on a machine of one core.
  int at_once() const override { return std::max(2, options_.at_once); }
  bool draws() const override { return false; }  // it has one answer
  std::chrono::seconds patience() const override {
    return std::chrono::seconds(options_.timeout_seconds);
  }
  // An answer takes seconds, so none is made for a guess.
  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    if (!refusal(task, profile).empty()) return {};
    return Guess{name(), least_seconds(task, profile)};
  }
  std::string refusal(const Task& task, const DeviceProfile& /*profile*/) override {
    return task.kernels.empty() ? "" : "the task has Triton kernels of its own";
  }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point deadline) override;
  Json costs() const override {
    return {{"requests", requests_.load()}, {"failures", failures_.load()}};
  }

 private:
  Proposal ask(const Task& task, std::chrono::seconds patience);

  const InductorOptions options_;
  const ScratchFolder folder_{"kw-inductor"};
  CompileServer server_;
  std::atomic<int> requests_ = 0, failures_ = 0;
};

std::vector<Proposal> Inductor::propose(const Task& task, const DeviceProfile& profile, int count,
                                        uint64_t /*seed*/,
                                        std::chrono::steady_clock::time_point deadline) {
  if (count < 1 || !refusal(task, profile).empty()) return {};
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(deadline - std::chrono::steady_clock::now());
  Proposal proposal = ask(task, std::min(patience(), left));
  proposal.family = name();
  proposal.model_seconds = least_seconds(task, profile);
  if (!proposal.fault.empty()) ++failures_;
  return {std::move(proposal)};
}

Proposal Inductor::ask(const Task& task, std::chrono::seconds patience) {
  Proposal out;
  const std::filesystem::path file = folder_.path() / (std::to_string(requests_++) + ".json");
  Json request = {{"task", "candidate"}, {"out", file}, {"inputs", inputs_json(task.forward)}};
  try {
    request["text"] = task_text(task);
    request["calls"] = calls_of(task.forward);
  } catch (const InputError& error) {
    out.fault = error.what();
    return out;
  }
  const auto end = std::chrono::steady_clock::now() + patience;
  out.fault = server_.ask(std::move(request), std::max(patience, std::chrono::seconds(1)));
  if (!out.fault.empty() && std::chrono::steady_clock::now() >= end) {
    out.fault += " (--policy-timeout)";
  }
  out.unanswered = !out.fault.empty();  // Inductor's answer is then unknown
  if (out.unanswered) return out;
  const Json answer = Json::parse(read_file(file));
  out.plan = answer.at("plan");
  out.source = answer.at("source");
  out.fault = answer.at("fault");
  return out;
}

}  // namespace

std::unique_ptr<Policy> make_inductor(const InductorOptions& options) {
  return std::make_unique<Inductor>(options);
}

}  // namespace kw
