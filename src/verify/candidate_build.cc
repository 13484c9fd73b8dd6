#include "verify/candidate_build.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace kw {
namespace {

std::vector<int> kth_configurations(const std::vector<Tuning>& tunings, size_t k) {
  std::vector<int> out;
  for (const Tuning& tuning : tunings) {
    out.push_back(static_cast<int>(k % tuning.configurations.size()));
  }
  return out;
}

size_t most_configurations(const std::vector<Tuning>& tunings) {
  size_t most = 0;
  for (const Tuning& tuning : tunings) most = std::max(most, tuning.configurations.size());
  return most;
}

}  // namespace

CandidateBuild::CandidateBuild(RecordRequest request, const BuildPlan& plan)
    : request_(std::move(request)), plan_(plan), chooses_(request_.configurations.empty()) {
  if (auto fault = text_fault(request_)) fail(std::move(*fault));
}

std::optional<Job> CandidateBuild::next() const {
  switch (stage_) {
    case BuildStage::kRecord:
      return record_job(request_, plan_.record_deadline);
    case BuildStage::kSlice:
      return slice_job(*recorded_, request_, plan_.compile_deadline);
    case BuildStage::kCompile:
      return compile_job(*recorded_, missing_, request_, plan_.compile_deadline);
    case BuildStage::kDone:
      return std::nullopt;
  }
  throw std::logic_error("no such stage of a build");
}

void CandidateBuild::take(const JobResult& result) {
  if (result.status == JobResult::Status::kFailed && ++failures_ < plan_.attempts) return;
  failures_ = 0;
  switch (stage_) {
    case BuildStage::kRecord:
      return take_recording(result);
    case BuildStage::kSlice:
      return take_slices(result);
    case BuildStage::kCompile:
      return take_kernels(result);
    case BuildStage::kDone:
      break;
  }
  throw std::logic_error("a build that is done takes no result");
}

void CandidateBuild::take_recording(const JobResult& result) {
  auto recorded = record_result(result, request_);
  if (recorded.fault) return fail(std::move(*recorded.fault));
  if (const std::string& target = recorded.value->task.target; target != request_.profile.arch) {
    return fail(invalid_answer("record", "made for " + target, request_));
  }
  recorded_ = std::move(recorded.value);
  slices_.clear();
  task_ = recorded_->task;
  if (task_.kernels.empty()) return finish(task_, 0);
  if (plan_.cache) {
    stage_ = BuildStage::kSlice;
  } else {
    plan_compile();
  }
}

void CandidateBuild::take_slices(const JobResult& result) {
  auto slices = slice_result(result, *recorded_, request_);
  if (slices.fault) return fail(std::move(*slices.fault));
  slices_ = std::move(*slices.value);
  plan_compile();
}

// Finds out which kernels are to be compiled. If the cache has all, the build is done.
void CandidateBuild::plan_compile() {
  stage_ = BuildStage::kCompile;
  missing_.clear();
  keys_.clear();
  for (size_t i = 0; i < task_.kernels.size(); ++i) {
    std::optional<Kernel> known;
    if (plan_.cache) {
      task_.kernels[i].source = slices_[i];
      keys_.push_back(KernelCache::key(task_.kernels[i], task_.target));
      known = plan_.cache->find(keys_.back());
    }
    if (known) {
      task_.kernels[i] = std::move(*known);
    } else {
      missing_.push_back(i);
    }
  }
  if (missing_.empty()) finish(task_, 0);
}

void CandidateBuild::take_kernels(const JobResult& result) {
  auto kernels = compiled_kernels(result, *recorded_, missing_, request_);
  if (kernels.fault) return fail(std::move(*kernels.fault));
  for (size_t i = 0; i < missing_.size(); ++i) {
    const size_t place = missing_[i];
    Kernel& kernel = (*kernels.value)[i];
    if (plan_.cache && kernel.source != slices_[place]) {
      return fail(invalid_answer("compile", "a kernel is of another slice", request_));
    }
    task_.kernels[place] = std::move(kernel);
  }
  for (size_t place : missing_) {
    if (plan_.cache) plan_.cache->put(keys_[place], task_.kernels[place]);
  }
  finish(task_, result.seconds);
}

void CandidateBuild::finish(Task task, double compile_seconds) {
  if (!task.kernels.empty()) {
    auto checked = runnable_task(std::move(task), request_);
    if (checked.fault) return fail(std::move(*checked.fault));
    task = std::move(*checked.value);
  }
  std::vector<int> configurations = request_.configurations;
  configurations.resize(recorded_->tunings.size());
  outcome_.value = BuiltTask{std::move(task),     recorded_->seconds, compile_seconds,
                             recorded_->warnings, recorded_->tunings, std::move(configurations)};
  stage_ = BuildStage::kDone;
}

bool CandidateBuild::try_next_configurations() {
  const std::vector<Tuning>& tunings = recorded_->tunings;
  if (!chooses_ ||
      ++configurations_ >= std::min(most_configurations(tunings), kMostConfigurations)) {
    return false;
  }
  request_.configurations = kth_configurations(tunings, configurations_);
  stage_ = BuildStage::kRecord;
  return true;
}

void CandidateBuild::fail(JobFault fault) {
  if (stage_ == BuildStage::kCompile && fault.cannot_run() && try_next_configurations()) return;
  failed_at_ = stage_;
  stage_ = BuildStage::kDone;
  outcome_ = {std::nullopt, std::move(fault)};
}

void run_build(Workers& workers, CandidateBuild& build, BuildStage stage) {
  while (build.stage() < stage) build.take(workers.run(*build.next()));
}

std::vector<JobOutcome<BuiltTask>> build_tasks(Workers& workers,
                                               const std::vector<RecordRequest>& requests,
                                               const BuildPlan& plan) {
  std::vector<CandidateBuild> builds;
  std::map<uint64_t, size_t> under_way;  // job id -> build
  const auto submit = [&](size_t i) {
    if (auto job = builds[i].next()) under_way[workers.submit(std::move(*job))] = i;
  };
  for (size_t i = 0; i < requests.size(); ++i) {
    builds.emplace_back(requests[i], plan);
    submit(i);
  }
  while (!under_way.empty()) {
    const JobResult result = workers.next();
    const size_t i = under_way.extract(result.id).mapped();
    builds[i].take(result);
    submit(i);
  }
  std::vector<JobOutcome<BuiltTask>> outcomes;
  for (CandidateBuild& build : builds) outcomes.push_back(std::move(build).outcome());
  return outcomes;
}

JobOutcome<BuiltTask> build_task(Workers& workers, const RecordRequest& request,
                                 const BuildPlan& plan) {
  return std::move(build_tasks(workers, {request}, plan)[0]);
}

}  // namespace kw
