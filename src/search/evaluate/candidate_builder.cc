#include "search/evaluate/candidate_builder.h"

#include <utility>

#include "formats/base/error.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

CandidateBuilder::Built failed(size_t number, const std::string& stage, const JobFault& fault) {
  return {.number = number,
          .fault = stage + ": " + fault.text(),
          .settled = fault.status == JobResult::Status::kRefused,
          .given_up = fault.status == JobResult::Status::kCancelled};
}

}  // namespace

size_t CandidateBuilder::submit(RecordRequest request) {
  const uint64_t id = pool_.submit(record_job(request, options_.record_deadline));
  jobs_.emplace(id, Job{submitted_, std::move(request), std::nullopt});
  return submitted_++;
}

std::vector<CandidateBuilder::Built> CandidateBuilder::take(
    std::chrono::steady_clock::time_point until) {
  std::vector<Built> out;
  while (!jobs_.empty()) {
    const std::optional<JobResult> result = pool_.next_until(until);
    if (!result) break;
    if (auto built = take(*result)) {
      out.push_back(std::move(*built));
      until = std::chrono::steady_clock::now();  // those that are there with it
    }
  }
  return out;
}

// Nothing where it goes to the pool again.
std::optional<CandidateBuilder::Built> CandidateBuilder::take(const JobResult& result) {
  Job job = std::move(jobs_.at(result.id));
  jobs_.erase(result.id);
  if (job.recorded) {
    auto compiled = compile_result(result, *job.recorded, job.request);
    if (compiled.fault) return failed(job.number, "compile", *compiled.fault);
    return Built{.number = job.number, .task = canonical(*compiled.value)};
  }
  auto recorded = record_result(result, job.request);
  if (recorded.fault) return failed(job.number, "record", *recorded.fault);
  if (!recorded.value->tunings.empty()) {  // which one would be spliced in?
    return Built{.number = job.number,
                 .fault = "record: an autotuned kernel where one configuration is wanted",
                 .settled = true};
  }
  job.recorded = std::move(recorded.value);
  const uint64_t id =
      pool_.submit(compile_job(*job.recorded, job.request, options_.compile_deadline));
  jobs_.emplace(id, std::move(job));
  return {};
}

void CandidateBuilder::give_up(size_t number) {
  for (const auto& [id, job] : jobs_) {
    if (job.number == number) pool_.cancel(id);
  }
}

void CandidateBuilder::abandon() noexcept {
  try {
    for (const auto& [id, job] : jobs_) pool_.cancel(id);
    while (!jobs_.empty()) jobs_.erase(pool_.next().id);
  } catch (const std::exception&) {  // the pool is broken, and says so to the next who asks
    jobs_.clear();
  }
}

}  // namespace kw
