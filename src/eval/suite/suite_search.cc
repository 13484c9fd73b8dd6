#include "eval/suite/suite_search.h"

#include <mutex>

#include "formats/base/error.h"
#include "policy/task_key.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

// A policy that learns nothing. Otherwise one search's findings would change, by chance, what other
// searches are proposed.
class Unlearning : public Policy {
 public:
  explicit Unlearning(Policy& policy) : policy_(policy) {}
  std::string name() const override { return policy_.name(); }
  std::string fingerprint() const override { return policy_.fingerprint(); }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile& profile, int count,
                                uint64_t seed,
                                std::chrono::steady_clock::time_point deadline) override {
    return policy_.propose(task, profile, count, seed, deadline);
  }
  void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                    std::chrono::steady_clock::time_point deadline,
                    const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override {
    policy_.propose_each(task, profile, count, seed, deadline, take, wanted);
  }
  std::optional<Guess> guess(const Task& task, const DeviceProfile& profile) override {
    return policy_.guess(task, profile);
  }
  int at_once() const override { return policy_.at_once(); }
  bool draws() const override { return policy_.draws(); }
  std::chrono::seconds patience() const override { return policy_.patience(); }
  std::string refusal(const Task& task, const DeviceProfile& profile) override {
    return policy_.refusal(task, profile);
  }

 private:
  Policy& policy_;
};

SuiteSample sample_of(const OptimizeResult& result) {
  SuiteSample out;
  out.family = "search";
  out.in_full = true;
  for (const Attempt& attempt : result.attempts) {
    if (attempt.chosen) out.plan += attempt.plan;
  }
  out.verdict = result.verdict;
  if (result.outcome == OptimizeResult::Outcome::kImproved) {
    out.python = result.python;
    return out;
  }
  Verdict& verdict = out.verdict;
  verdict.reason = result.message;
  const bool tried = !verdict.stages.empty();  // as a whole
  if (tried && verdict.outcome == Verdict::Outcome::kNotJudged) return out;
  verdict.outcome = Verdict::Outcome::kRejected;
  // No program was put together, or it is right and no faster.
  if (!verdict.rejected_at) verdict.rejected_at = tried ? Stage::kTime : Stage::kCoverage;
  return out;
}

// Returns the hash that an eval without a search has, so that their runs can be compared.
std::string whole_hash(const Task& reference) {
  try {
    return forward_hash(asked_program(reference));
  } catch (const InputError&) {  // no step makes its result
    return forward_hash(canonical(reference));
  }
}

}  // namespace

void search_suite(const std::vector<RecordRequest>& models, JudgingCrew& crew, Executor& executor,
                  Policy& policy, const DeviceProfile& profile, const OptimizeOptions& options,
                  const std::filesystem::path& store,
                  const std::function<void(const SuiteResult&)>& done) {
  Unlearning shared(policy);
  std::mutex mutex;  // guards `done`
  const std::atomic<bool> never = false;
  crew.run(models.size(), [&](WorkerPool& pool, size_t i) {
    SuiteResult result;
    result.place = i;
    result.model = models[i].file;
    Store known(store);
    try {
      Optimizer optimizer(pool, executor, shared, known, profile, nullptr);
      const OptimizeResult found = optimizer.optimize(models[i], options, never);
      result.task = whole_hash(found.reference);
      result.judge_seconds = found.total_seconds;
      result.phases = found.phase_seconds;
      result.samples.push_back(sample_of(found));
    } catch (const FileFault& error) {
      result.fault = error.what();
      result.fault_code = error.code();
    } catch (const InputError& error) {
      result.fault = error.what();
    }
    const std::lock_guard lock(mutex);
    done(result);
  });
}

}  // namespace kw
