#include "search/evaluate.h"

#include <algorithm>

#include "formats/error.h"
#include "formats/sha256.h"
#include "program/transform.h"
#include "verify/side_by_side.h"
#include "verify/statistics.h"

namespace kw {
namespace {

std::string fault_text(const Verdict& verdict) {
  const std::string at =
      verdict.rejected_at ? std::string(stage_name(*verdict.rejected_at)) + ": " : "not judged: ";
  return at + verdict.reason;
}

}  // namespace

FragmentEvaluator::FragmentEvaluator(WorkerPool& pool, ExecutorClient& executor, Policy& policy,
                                     Store& store, const DeviceProfile& profile,
                                     const OptimizeOptions& options)
    : pool_(pool),
      executor_(executor),
      policy_(policy),
      store_(store),
      profile_(profile),
      options_(options),
      verifier_(pool, executor, profile) {}

std::string FragmentEvaluator::store_key(const Fragment& fragment, int proposals) const {
  const Json parts = {{"fragment", canonical_hash(fragment.task)},
                      {"policy", policy_.name()},
                      {"policy_version", policy_.fingerprint()},
                      {"proposals", proposals},
                      {"profile", profile_.name},
                      {"executor", executor_.hello()},
                      {"worker", pool_.versions()}};
  return "fragment/" + sha256_hex(parts.dump());
}

std::vector<FragmentEvaluator::Built> FragmentEvaluator::build(const Fragment& fragment,
                                                               std::vector<Attempt>& attempts,
                                                               const std::atomic<bool>& stop) {
  // Recording and compiling overlap: each proposal goes to the pool twice, the second time as soon
  // as the first is back.
  struct Pending {
    size_t attempt;
    RecordRequest request;
    std::optional<Recorded> recorded;
  };
  std::map<uint64_t, Pending> pending;
  std::vector<Built> built;
  auto reject = [&](size_t attempt, const std::string& stage, const JobFault& fault) {
    attempts[attempt].reason = stage + ": " + fault.text();
    attempts[attempt].settled = fault.status == JobResult::Status::kRefused;
  };
  for (size_t i = 0; i < attempts.size(); ++i) {
    RecordRequest request = proposal_request(fragment.task.forward, attempts[i].source, profile_);
    const uint64_t id = pool_.submit(record_job(request, options_.verify.record_deadline));
    pending.emplace(id, Pending{i, std::move(request), std::nullopt});
  }
  while (!pending.empty()) {
    if (stop) {
      for (const auto& [id, job] : pending) pool_.cancel(id);
    }
    const JobResult result = pool_.next();
    Pending job = std::move(pending.at(result.id));
    pending.erase(result.id);
    if (!job.recorded) {
      auto recorded = record_result(result, job.request);
      if (recorded.fault) {
        reject(job.attempt, "record", *recorded.fault);
        continue;
      }
      if (!recorded.value->tunings.empty()) {  // which one would be spliced in?
        attempts[job.attempt].reason =
            "record: an autotuned kernel where one configuration is wanted";
        attempts[job.attempt].settled = true;
        continue;
      }
      job.recorded = std::move(recorded.value);
      const uint64_t id =
          pool_.submit(compile_job(*job.recorded, job.request, options_.verify.compile_deadline));
      pending.emplace(id, std::move(job));
      continue;
    }
    auto compiled = compile_result(result, *job.recorded, job.request);
    if (compiled.fault) {
      reject(job.attempt, "compile", *compiled.fault);
    } else {
      built.push_back({job.attempt, canonical(*compiled.value)});
    }
  }
  std::sort(built.begin(), built.end(),
            [](const Built& a, const Built& b) { return a.attempt < b.attempt; });
  return built;
}

void FragmentEvaluator::judge(const Fragment& fragment, std::vector<Built>& built, Evaluated& out,
                              const std::atomic<bool>& stop) {
  const Reference reference = verifier_.prepare(fragment.task);
  const VerifyOptions options = screening(options_.verify);
  std::vector<Built> accepted;
  for (Built& candidate : built) {
    if (stop) break;
    Attempt& attempt = out.attempts[candidate.attempt];
    if (attempt.reason = replacement_fault(fragment, candidate.task); !attempt.reason.empty()) {
      continue;
    }
    Verdict verdict;
    verifier_.judge(reference, candidate.task, options, verdict);
    attempt.accepted = verdict.outcome == Verdict::Outcome::kAccepted;
    if (!attempt.accepted) {
      attempt.reason = fault_text(verdict);
      attempt.settled = verdict.outcome == Verdict::Outcome::kRejected;
      continue;
    }
    accepted.push_back(std::move(candidate));
    if (!measures()) break;  // times are modelled: the policy's best guess that is right will do
  }
  built = std::move(accepted);
  if (!built.empty() && measures() && !stop) time(reference, built, out);
  executor_.unload(reference.id);
}

void FragmentEvaluator::time(const Reference& reference, std::vector<Built>& built,
                             Evaluated& out) {
  std::vector<const Task*> candidates;
  for (const Built& candidate : built) candidates.push_back(&candidate.task);
  const TimeReport report = time_side_by_side(executor_, reference, candidates, options_.verify);
  if (report.status != "ok") {
    for (const Built& candidate : built) {
      out.attempts[candidate.attempt].accepted = false;
      out.attempts[candidate.attempt].settled = false;
      out.attempts[candidate.attempt].reason = "time: " + report.message;
    }
    built.clear();
    return;
  }
  out.eager_seconds = 1e-3 * median(report.device_ms[0]);
  std::vector<std::pair<Json, double>> lessons;
  for (size_t i = 0; i < built.size(); ++i) {
    Attempt& attempt = out.attempts[built[i].attempt];
    attempt.measured = true;
    attempt.eager_seconds = out.eager_seconds;
    attempt.seconds = 1e-3 * median(report.device_ms[i + 1]);
    lessons.emplace_back(attempt.schedule, attempt.seconds);
  }
  policy_.learn(lessons);
}

Evaluated FragmentEvaluator::evaluate(const Fragment& fragment, double eager_model_seconds,
                                      int proposals, const std::atomic<bool>& stop) {
  Evaluated out;
  const std::string key = store_key(fragment, proposals);
  if (recall(fragment, key, out)) return out;
  out.eager_seconds = eager_model_seconds;
  // Without measurements the first proposal that is right is taken, so a few are enough.
  const int count = measures() ? proposals : std::min(proposals, 3);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (const Proposal& p : policy_.propose(fragment.task, profile_, count, 0, deadline)) {
    Attempt attempt;
    attempt.steps = fragment.steps;
    attempt.family = p.family;
    attempt.plan = p.plan;
    attempt.source = p.source;
    attempt.schedule = p.schedule;
    attempt.seconds = p.model_seconds;
    attempt.eager_seconds = eager_model_seconds;
    out.attempts.push_back(std::move(attempt));
  }
  std::vector<Built> built = build(fragment, out.attempts, stop);
  judge(fragment, built, out, stop);
  for (Built& candidate : built) {
    const Attempt& attempt = out.attempts[candidate.attempt];
    if (!out.best || attempt.seconds < out.seconds) {
      out.best = std::move(candidate.task);
      out.best_attempt = candidate.attempt;
      out.seconds = attempt.seconds;
    }
  }
  if (!stop) remember(key, out);
  return out;
}

bool FragmentEvaluator::recall(const Fragment& fragment, const std::string& key, Evaluated& out) {
  const auto stored = store_.get(key);
  if (!stored) return false;
  try {
    const JsonReader in(*stored, "store");
    out.eager_seconds = in.at("eager_seconds").number();
    for (const JsonReader& item : in.at("attempts").items()) {
      Attempt attempt;
      attempt.steps = fragment.steps;
      attempt.family = item.at("family").string();
      attempt.plan = item.at("plan").string();
      attempt.source = item.at("source").string();
      attempt.accepted = item.at("accepted").boolean();
      attempt.reason = item.at("reason").string();
      attempt.measured = item.at("measured").boolean();
      attempt.eager_seconds = out.eager_seconds;
      attempt.seconds = item.at("seconds").number();
      attempt.from_store = true;
      out.attempts.push_back(std::move(attempt));
    }
    if (in.at("best").is_null()) return true;
    out.best_attempt = static_cast<size_t>(
        in.at("best").integer(0, static_cast<int64_t>(out.attempts.size()) - 1));
    const std::atomic<bool> never = false;
    std::vector<Attempt> best = {out.attempts[out.best_attempt]};
    std::vector<Built> built = build(fragment, best, never);
    if (built.empty()) throw InputError("does not build any more");
    out.best = std::move(built[0].task);
    out.seconds = best[0].seconds;
    return true;
  } catch (const InputError&) {
    out = {};  // of another version, or damaged: evaluated again
    return false;
  }
}

// Only what another run would find as well: not a worker that was killed or ran out of time.
void FragmentEvaluator::remember(const std::string& key, const Evaluated& out) {
  for (const Attempt& attempt : out.attempts) {
    if (!attempt.settled) return;
  }
  Json attempts = Json::array();
  for (const Attempt& a : out.attempts) {
    attempts.push_back({{"family", a.family},
                        {"plan", a.plan},
                        {"source", a.source},
                        {"accepted", a.accepted},
                        {"reason", a.reason},
                        {"measured", a.measured},
                        {"seconds", a.seconds}});
  }
  store_.put(key, {{"eager_seconds", out.eager_seconds},
                   {"attempts", attempts},
                   {"best", out.best ? Json(out.best_attempt) : Json()}});
}

}  // namespace kw
