// For tests: workers that start no process, and replies as workers send them.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/task_json.h"
#include "worker/jobs.h"
#include "worker/workers.h"

namespace kw {

// Answers each job at once with what a function says.
class FakeWorkers : public Workers {
 public:
  using Answer = std::function<JobResult(const Json& request)>;
  explicit FakeWorkers(Answer answer) : answer_(std::move(answer)) {}

  const std::vector<SandboxLayer>& sandbox() const override { return layers_; }
  uint64_t submit(Job job) override {
    kinds.push_back(job.request.json.at("kind").get<std::string>());
    JobResult result = answer_(job.request.json);
    result.id = ++last_id_;
    finished_.push_back(std::move(result));
    return last_id_;
  }
  std::optional<JobResult> next_until(std::chrono::steady_clock::time_point) override {
    if (finished_.empty()) throw std::logic_error("no job is under way");
    JobResult result = std::move(finished_.front());
    finished_.pop_front();
    return result;
  }
  void cancel(uint64_t id) override {
    for (JobResult& result : finished_) {
      if (result.id != id) continue;
      result = {};
      result.id = id;
      result.status = JobResult::Status::kCancelled;
      result.message = "cancelled";
    }
  }
  size_t pending() const override { return finished_.size(); }

  std::vector<std::string> kinds;  // of all jobs so far: "record", "slice", "compile"

 private:
  Answer answer_;
  uint64_t last_id_ = 0;
  std::deque<JobResult> finished_;
  std::vector<SandboxLayer> layers_;
};

inline JobResult ok_result(Json json, std::vector<std::string> blobs = {}) {
  JobResult result;
  result.status = JobResult::Status::kOk;
  json["status"] = "ok";
  result.reply = {std::move(json), std::move(blobs)};
  return result;
}

inline JobResult failed_result(JobResult::Status status, const std::string& message,
                               const std::string& code = "") {
  JobResult result;
  result.status = status;
  result.message = message;
  result.code = code;
  return result;
}

// A kernel of one launch configuration, named by its block.
inline Kernel fake_kernel(int block) {
  Kernel kernel;
  kernel.name = "scale";
  kernel.params = {{"x", "*fp32"}, {"BLOCK", "constexpr"}};
  kernel.constexprs = {{"1", block}};
  return kernel;
}

// What a worker records of a program with these kernels. `configurations` > 0: one tuning of so
// many.
inline JobResult recorded_result(const std::vector<Kernel>& kernels, int configurations = 0,
                                 const std::string& target = "sm_90") {
  Task task;
  task.target = target;
  task.kernels = kernels;
  Json raw = Json::array();
  for (const Kernel& kernel : kernels) raw.push_back(to_json(kernel));
  Json reply = {{"task", to_json(task)}, {"kernels", raw}, {"seconds", 0.5}};
  if (configurations > 0) {
    Json texts = Json::array();
    for (int i = 0; i < configurations; ++i) texts.push_back("BLOCK=" + std::to_string(i));
    reply["tunings"] = Json::array({{{"kernel", "scale"}, {"configurations", texts}}});
  }
  return ok_result(std::move(reply));
}

inline std::string fake_slice(size_t i) { return "slice " + std::to_string(i) + "\n"; }

inline JobResult sliced_result(size_t count) {
  Json slices = Json::array();
  for (size_t i = 0; i < count; ++i) slices.push_back(fake_slice(i));
  return ok_result({{"slices", slices}});
}

// What a worker says that compiled the kernels of a "compile" request. `shared`: bytes each needs.
// `first`: which slice the first one has.
inline JobResult compiled_result(const Json& request, int64_t shared = 0, size_t first = 0) {
  Json kernels = Json::array();
  std::vector<std::string> blobs;
  for (const Json& raw : request.at("kernels")) {
    Kernel kernel = kernel_from_json(JsonReader(raw, ""), nullptr);
    kernel.compiled = Compiled{.arch = "sm_90", .symbol = "scale", .writes = {0}};
    kernel.compiled->shared = shared;
    kernels.push_back({{"kernel", to_json(kernel)},
                       {"slice", fake_slice(first + blobs.size())},
                       {"cubin", blobs.size()}});
    blobs.emplace_back("machine code");
  }
  return ok_result({{"kernels", kernels}}, std::move(blobs));
}

}  // namespace kw
