#include "search/evaluate/candidate_builder.h"

#include <iterator>
#include <utility>

#include "formats/base/error.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

CandidateBuilder::Built failed(size_t number, const CandidateBuild& build) {
  const JobFault& fault = *build.fault();
  const std::string stage = build.failed_at() == BuildStage::kRecord ? "record" : "compile";
  return {.number = number,
          .fault = stage + ": " + fault.text(),
          .settled = fault.status == JobResult::Status::kRefused,
          .given_up = fault.status == JobResult::Status::kCancelled};
}

}  // namespace

size_t CandidateBuilder::submit(RecordRequest request) {
  go_on({submitted_,
         CandidateBuild(std::move(request), {.record_deadline = options_.record_deadline,
                                             .compile_deadline = options_.compile_deadline})});
  return submitted_++;
}

// Submits the next job of a build, or notes how the build has ended.
void CandidateBuilder::go_on(Running running) {
  CandidateBuild& build = running.build;
  if (build.fault()) {
    ended_.push_back(failed(running.number, build));
  } else if (build.recorded() && !build.recorded()->tunings.empty()) {
    // It is not known which configuration would be spliced in.
    ended_.push_back({.number = running.number,
                      .fault = "record: an autotuned kernel where one configuration is wanted",
                      .settled = true});
  } else if (auto job = build.next()) {
    const uint64_t id = workers_.submit(std::move(*job));
    jobs_.emplace(id, std::move(running));
  } else {
    ended_.push_back(
        {.number = running.number, .task = canonical(std::move(build).outcome().value->task)});
  }
}

std::vector<CandidateBuilder::Built> CandidateBuilder::take(
    std::chrono::steady_clock::time_point until) {
  while (!jobs_.empty()) {
    // Once a build has ended, only results that are there already are taken with it.
    if (!ended_.empty()) until = std::chrono::steady_clock::now();
    const std::optional<JobResult> result = workers_.next_until(until);
    if (!result) break;
    Running running = std::move(jobs_.extract(result->id).mapped());
    running.build.take(*result);
    go_on(std::move(running));
  }
  return std::exchange(ended_, {});
}

void CandidateBuilder::give_up(size_t number) {
  for (const auto& [id, running] : jobs_) {
    if (running.number == number) workers_.cancel(id);
  }
}

void CandidateBuilder::abandon() noexcept {
  ended_.clear();
  try {
    for (const auto& [id, running] : jobs_) workers_.cancel(id);
    while (!jobs_.empty()) jobs_.erase(workers_.next().id);
  } catch (const std::exception&) {  // the workers are broken, and say so to the next caller
    jobs_.clear();
  }
}

}  // namespace kw
