#include "search/suite.h"

#include <algorithm>
#include <numeric>

#include "formats/error.h"
#include "program/transform.h"

namespace kw {
namespace {

constexpr std::chrono::seconds kPolicyPatience{60};

bool any(const std::vector<SuiteSample>& samples, Verdict::Outcome outcome) {
  return std::any_of(samples.begin(), samples.end(),
                     [&](const SuiteSample& sample) { return sample.verdict.outcome == outcome; });
}

}  // namespace

bool SuiteResult::verified() const { return any(samples, Verdict::Outcome::kAccepted); }

std::string SuiteResult::outcome() const {
  if (!fault.empty()) return "unusable";
  if (samples.empty()) return "refused";
  if (verified()) return "verified";
  return any(samples, Verdict::Outcome::kNotJudged) ? "not judged" : "rejected";
}

Json to_json(const SuiteResult& result) {
  Json out = {{"model", result.model},
              {"outcome", result.outcome()},
              {"reason", result.fault.empty() ? result.refusal : result.fault},
              {"samples", Json::array()}};
  for (const SuiteSample& sample : result.samples) {
    const Verdict& verdict = sample.verdict;
    Json item = {
        {"family", sample.family},
        {"plan", sample.plan},
        {"outcome", outcome_name(verdict.outcome)},
        {"rejected_at", verdict.rejected_at ? Json(stage_name(*verdict.rejected_at)) : Json()},
        {"reason", verdict.reason},
        {"degenerate", verdict.degenerate},
        {"speedup_eager", nullptr}};
    if (const auto& speedup = verdict.speedup_eager) {
      item["speedup_eager"] = {
          {"estimate", speedup->estimate}, {"lower", speedup->lower}, {"upper", speedup->upper}};
    }
    out["samples"].push_back(std::move(item));
  }
  return out;
}

struct Suite::Asked {
  const RecordRequest* request;
  SuiteResult result;
  Fragment fragment;  // the whole forward program
  struct Built {
    RecordRequest request;
    BuiltTask task;
  };
  std::vector<std::optional<Built>> built;  // by sample
};

void Suite::run(const std::vector<RecordRequest>& models, const SuiteOptions& options,
                const std::function<void(const SuiteResult&)>& done) {
  for (size_t first = 0; first < models.size(); first += static_cast<size_t>(options.batch)) {
    std::vector<Asked> batch;
    const size_t last = std::min(models.size(), first + static_cast<size_t>(options.batch));
    for (size_t i = first; i < last; ++i) {
      batch.emplace_back();
      batch.back().request = &models[i];
      batch.back().result.model = models[i].file;
    }
    run_batch(batch, options);
    for (Asked& asked : batch) {
      judge(asked, options);
      done(asked.result);
    }
  }
}

void Suite::run_batch(std::vector<Asked>& batch, const SuiteOptions& options) {
  std::vector<RecordRequest> requests;
  for (const Asked& asked : batch) requests.push_back(*asked.request);
  std::vector<JobOutcome<BuiltTask>> references =
      build_tasks(pool_, requests, options.verify.record_deadline);
  for (size_t i = 0; i < batch.size(); ++i) {
    Asked& asked = batch[i];
    if (references[i].fault) {
      asked.result.fault = references[i].fault->text();
      continue;
    }
    const Task task = canonical(references[i].value->task);
    std::vector<int> steps(task.forward.steps.size());
    std::iota(steps.begin(), steps.end(), 0);
    try {
      asked.fragment = cut(task, steps);
      propose(asked, options);
    } catch (const InputError& error) {
      asked.result.fault = error.what();  // no step makes its result
    }
  }
  // All proposals of the batch at once.
  std::vector<RecordRequest> proposals;
  std::vector<std::pair<Asked*, size_t>> places;
  for (Asked& asked : batch) {
    for (size_t k = 0; k < asked.result.samples.size(); ++k) {
      RecordRequest request;
      request.text = asked.result.samples[k].source;
      request.file = "proposal.py";
      request.cls = "ModelNew";
      request.profile = profile_;
      request.fragment = true;
      const Program& forward = asked.fragment.task.forward;
      for (ValueId id : forward.inputs) request.inputs.push_back(forward.values[id]);
      proposals.push_back(std::move(request));
      places.emplace_back(&asked, k);
    }
    asked.built.resize(asked.result.samples.size());
  }
  std::vector<JobOutcome<BuiltTask>> built =
      build_tasks(pool_, proposals, options.verify.compile_deadline);
  for (size_t i = 0; i < places.size(); ++i) {
    auto& [asked, k] = places[i];
    if (built[i].fault) {
      asked->result.samples[k].verdict = unbuilt(*built[i].fault);
    } else {
      built[i].value->task = canonical(built[i].value->task);
      asked->built[k] = {std::move(proposals[i]), std::move(*built[i].value)};
    }
  }
}

void Suite::propose(Asked& asked, const SuiteOptions& options) {
  const Task& task = asked.fragment.task;
  const auto deadline = std::chrono::steady_clock::now() + kPolicyPatience;
  for (Proposal& p : policy_.propose(task, profile_, options.samples, options.seed, deadline)) {
    asked.result.samples.push_back({p.family, p.plan, p.source, {}});
  }
  if (asked.result.samples.empty()) asked.result.refusal = policy_.refusal(task, profile_);
}

void Suite::judge(Asked& asked, const SuiteOptions& options) {
  Verifier verifier(pool_, executor_, profile_);
  std::optional<Reference> reference;
  for (size_t k = 0; k < asked.built.size(); ++k) {
    if (!asked.built[k]) continue;
    if (!reference) reference = verifier.prepare(asked.fragment.task);
    try {
      auto& [request, built] = *asked.built[k];
      verifier.judge_built(*reference, request, options.verify, built,
                           asked.result.samples[k].verdict);
    } catch (const InputError& error) {  // the model itself does not run
      asked.result.fault = error.what();
      break;
    }
  }
  if (reference) executor_.unload(reference->id);
}

}  // namespace kw
