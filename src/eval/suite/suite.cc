#include "eval/suite/suite.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <map>

#include "formats/base/error.h"
#include "formats/base/on_threads.h"
#include "formats/base/sha256.h"
#include "policy/task_key.h"
#include "program/python/export.h"
#include "program/rewrite/transform.h"
#include "verify/batch/batch.h"
#include "verify/batch/side_by_side.h"
#include "verify/verdict/statistics.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

// Runs a part of a batch and reports its seconds.
template <class Work>
auto timed(const SuiteOptions& options, const std::string& what, Work work) {
  const Clock::time_point start = Clock::now();
  auto result = work();
  if (options.progress) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f s",
                  std::chrono::duration<double>(Clock::now() - start).count());
    options.progress(what + ": " + seconds);
  }
  return result;
}

// Returns the whole program for torch.compile: a function of the fragment's arguments. Returns
// nothing if some arguments are derived from parameters, which the model file does not know.
std::optional<BaselineRequest> baseline_of(const Fragment& fragment, const Task& task,
                                           const RecordRequest& model) {
  if (!task.derive.outputs.empty()) return {};
  BaselineRequest out{model, task.state, {}, false};
  const std::vector<ValueId>& inputs = task.forward.inputs;
  for (ValueId id : fragment.in_values) {
    const auto place = std::find(inputs.begin(), inputs.end(), id) - inputs.begin();
    out.inputs.push_back(static_cast<int>(place));
  }
  return out;
}

// Returns the verdict on a proposal without source.
Verdict unwritten(const Proposal& proposal) {
  Verdict verdict;
  verdict.reason = proposal.fault;
  if (proposal.unanswered) return verdict;
  verdict.outcome = Verdict::Outcome::kRejected;
  verdict.rejected_at = Stage::kLoad;
  return verdict;
}

void add_phases(const std::map<std::string, double>& phases, SuiteResult& result) {
  for (const auto& [phase, seconds] : phases) result.phases[phase] += seconds;
}

bool any(const std::vector<SuiteSample>& samples, Verdict::Outcome outcome) {
  return std::any_of(samples.begin(), samples.end(),
                     [&](const SuiteSample& sample) { return sample.verdict.outcome == outcome; });
}

constexpr std::string_view kModelOutcomes[] = {"verified", "rejected", "not judged", "refused",
                                               "unusable"};

}  // namespace

std::string_view outcome_name(ModelOutcome outcome) {
  return kModelOutcomes[static_cast<int>(outcome)];
}
ModelOutcome model_outcome_from_json(const JsonReader& in) {
  return static_cast<ModelOutcome>(in.one_of(kModelOutcomes));
}

bool SuiteResult::verified() const {
  return std::any_of(samples.begin(), samples.end(), [](const SuiteSample& sample) {
    return sample.in_full && sample.verdict.outcome == Verdict::Outcome::kAccepted;
  });
}

ModelOutcome SuiteResult::outcome() const {
  if (!fault.empty()) return is_workers_fault ? ModelOutcome::kNotJudged : ModelOutcome::kUnusable;
  if (samples.empty()) return ModelOutcome::kRefused;
  if (verified()) return ModelOutcome::kVerified;
  return any(samples, Verdict::Outcome::kNotJudged) ? ModelOutcome::kNotJudged
                                                    : ModelOutcome::kRejected;
}

namespace {

Json milliseconds(double ms) { return ms > 0 ? Json(ms) : Json(); }

// Returns the trials' result by KernelBench's rule, or null if there were none.
Json allclose_of(const Verdict& verdict) {
  Json out;
  for (const StageResult& stage : verdict.stages) {
    if (stage.stage == Stage::kCorrect) out = stage.evidence.value("allclose", Json());
  }
  return out;
}

Json to_json(const SuiteSample& sample) {
  const Verdict& verdict = sample.verdict;
  return {{"family", sample.family},
          {"plan", sample.plan},
          {"schedule", sample.schedule},
          {"outcome", outcome_name(verdict.outcome)},
          {"sha256", sample.source.empty() ? Json() : Json(sha256_hex(sample.source))},
          {"in_full", sample.in_full},
          {"same_as", sample.same_as < 0 ? Json() : Json(sample.same_as)},
          {"rejected_at", verdict.rejected_at ? Json(stage_name(*verdict.rejected_at)) : Json()},
          {"reason", verdict.reason},
          {"degenerate", verdict.degenerate},
          {"allclose", allclose_of(verdict)},
          {"program", verdict.program},
          {"file", file_does_name(verdict.file)},
          {"file_reason", verdict.file_reason},
          {"share", verdict.outcome == Verdict::Outcome::kAccepted ? Json(verdict.share) : Json()},
          {"device_ms", milliseconds(sample.device_ms)},
          {"speedup_eager", interval_to_json(verdict.speedup_eager)},
          {"speedup_compile", interval_to_json(verdict.speedup_compile)}};
}

}  // namespace

Json to_json(const SuiteResult& result) {
  Json out = {{"model", result.model},
              {"task", result.task.empty() ? Json() : Json(result.task)},
              {"outcome", outcome_name(result.outcome())},
              {"reason", result.fault.empty() ? result.refusal : result.fault},
              {"fault", result.fault_code.empty() ? Json() : Json(result.fault_code)},
              {"eager_ms", milliseconds(result.eager_ms)},
              {"compiled_ms", milliseconds(result.compiled_ms)},
              {"floor_ms", milliseconds(result.floor_ms)},
              {"judge_seconds", result.judge_seconds},
              {"phases", result.phases},
              {"samples", Json::array()}};
  for (const SuiteSample& sample : result.samples) out["samples"].push_back(to_json(sample));
  return out;
}

struct Suite::Model {
  const RecordRequest* request;
  size_t place;                             // among all models
  std::string fault, fault_code;            // why there is no task
  bool is_workers_fault = false;            // the fault is not the model's
  Task task;                                // as it was recorded
  std::string hash;                         // of its program; empty: not recorded
  Fragment fragment;                        // its whole forward program
  std::optional<BaselineRequest> baseline;  // for torch.compile's version of it
  std::string package;                      // that version
};

struct Suite::Asked {
  Model* model;
  SuiteResult result;
  struct Built {
    RecordRequest request;
    BuiltTask task;
  };
  std::vector<std::optional<Built>> built;  // by sample
  bool done = false;                        // judged
  size_t open = 0;                          // samples that are being judged
  std::map<size_t, size_t> elsewhere;  // other policies' items: the first sample that equals one
};

void Suite::run(const std::vector<RecordRequest>& models, const SuiteOptions& options,
                const std::function<void(const SuiteResult&)>& done) {
  for (size_t first = 0; first < models.size(); first += static_cast<size_t>(options.batch)) {
    const size_t last = std::min(models.size(), first + static_cast<size_t>(options.batch));
    if (options.progress) {
      options.progress("models " + std::to_string(first + 1) + " to " + std::to_string(last) +
                       " of " + std::to_string(models.size()));
    }
    std::vector<Model> recorded =
        timed(options, "recorded", [&] { return record(models, first, last); });
    std::vector<Asked> batch = ask(recorded, options);
    judge(batch, options, done);
  }
}

void Suite::judge(std::vector<Asked>& batch, const SuiteOptions& options,
                  const std::function<void(const SuiteResult&)>& done) {
  if (options.side_by_side || options.until_accepted) {
    judge_in_rounds(batch, options, done);
  } else {
    timed(options, "judged", [&] { return judge_all(batch, options, done), 0; });
  }
}

// Builds torch.compile's version of each model that has samples.
void Suite::build_packages(std::vector<Asked>& batch, const SuiteOptions& options) {
  std::vector<BaselineRequest> baselines;
  std::vector<Model*> owners;
  for (const Asked& asked : batch) {
    Model* model = asked.model;
    if (!options.compile_baselines || asked.result.samples.empty() || !model->baseline) continue;
    if (!owners.empty() && owners.back() == model)
      continue;  // these are another policy's samples for it
    baselines.push_back(*model->baseline);
    owners.push_back(model);
  }
  if (baselines.empty()) return;
  const std::vector<std::string> made =
      timed(options, "built " + std::to_string(baselines.size()) + " torch.compile packages",
            [&] { return options.compile_baselines(baselines); });
  for (size_t i = 0; i < made.size(); ++i) owners.at(i)->package = made[i];
}

// Judges every sample separately.
void Suite::judge_all(std::vector<Asked>& batch, const SuiteOptions& options,
                      const std::function<void(const SuiteResult&)>& done) {
  build_packages(batch, options);  // nothing else is on the device meanwhile
  std::vector<BatchItem> items;
  std::vector<std::pair<Asked*, size_t>> places;
  for (Asked& asked : batch) {
    if (!asked.result.fault.empty()) continue;
    const auto task = std::make_shared<const Task>(asked.model->fragment.task);
    asked.result.floor_ms = 1e3 * physical_floor(*task, profile_);
    for (size_t k = 0; k < asked.result.samples.size(); ++k) {
      const std::string& source = asked.result.samples[k].source;
      if (source.empty()) continue;  // judged already
      BatchItem& item = items.emplace_back();
      item.id = std::to_string(places.size());
      item.task = task;
      item.candidate = proposal_request(task->forward, source, profile_);
      item.compiled_package = asked.model->package;
      places.emplace_back(&asked, k);
      ++asked.open;
    }
  }
  for (const Asked& asked : batch) {
    if (asked.open == 0) done(asked.result);  // it has no sample to judge
  }
  verify_batch(items, crew_, executor_, profile_, options.verify, [&](const BatchResult& found) {
    const auto [asked, k] = places.at(std::stoull(found.item->id));
    take(*asked, k, found);
    if (!found.same_as.empty()) {
      const size_t judged = std::stoull(found.same_as);
      const auto& [other, of] = places.at(judged);
      // If samples equal another policy's, the first of them has that verdict.
      const size_t own =
          other == asked ? of : asked->elsewhere.try_emplace(judged, k).first->second;
      if (own != k) asked->result.samples[k].same_as = static_cast<int>(own);
    }
    if (--asked->open == 0) done(asked->result);
  });
}

void Suite::take(Asked& asked, size_t k, const BatchResult& found) {
  if (!found.fault.empty()) asked.result.fault = found.fault;  // the model itself does not run
  SuiteSample& sample = asked.result.samples[k];
  sample.verdict = found.verdict;
  sample.in_full = found.program != nullptr || sample.verdict.rejected_at > Stage::kCompile;
  if (found.same_as.empty()) {
    for (const StageResult& stage : found.verdict.stages) {
      if (stage.stage > Stage::kCoverage) asked.result.judge_seconds += stage.seconds;
    }
    add_phases(phase_seconds(found.verdict), asked.result);
  }
  if (found.program) put_in_place(asked, sample, *found.program);
}

void Suite::judge_in_rounds(std::vector<Asked>& batch, const SuiteOptions& options,
                            const std::function<void(const SuiteResult&)>& done) {
  // torch.compile works while proposals are built, and is done before anything is timed.
  auto packages = std::async(std::launch::async, [&] { build_packages(batch, options); });
  const auto samples = static_cast<size_t>(std::ranges::max(options.samples));
  const size_t at_once = options.until_accepted ? 1 : samples;
  timed(options, "built proposals", [&] { return build(batch, 0, at_once, options); });
  packages.get();
  size_t reported = 0;  // models, in order
  for (size_t first = 0; first < samples; first += at_once) {
    if (first > 0) {
      const std::string what = "built the others' proposals no. " + std::to_string(first + 1);
      if (timed(options, what, [&] { return build(batch, first, first + 1, options); }) == 0) break;
    }
    for (Asked& asked : batch) {
      crew_.run(1, [&](WorkerPool& pool, size_t) { judge(pool, asked, first, options); });
      asked.done = first + at_once >= asked.built.size() || !asked.result.fault.empty();
      for (; reported < batch.size() && batch[reported].done; ++reported) {
        done(batch[reported].result);
      }
    }
  }
}

std::vector<JobOutcome<BuiltTask>> Suite::built_by_crew(const std::vector<RecordRequest>& requests,
                                                        const BuildPlan& plan) {
  std::vector<JobOutcome<BuiltTask>> out(requests.size());
  crew_.run(requests.size(), [&](WorkerPool& pool, size_t i) {
    out[i] = std::move(build_tasks(pool, {requests[i]}, plan).front());
  });
  return out;
}

// Records the models [first, last).
std::vector<Suite::Model> Suite::record(const std::vector<RecordRequest>& requests, size_t first,
                                        size_t last) {
  const auto from = requests.begin() + static_cast<long>(first);
  std::vector<JobOutcome<BuiltTask>> references =
      built_by_crew({from, requests.begin() + static_cast<long>(last)}, build_plan({}));
  std::vector<Model> out;
  for (size_t i = 0; i < references.size(); ++i) {
    Model& model = out.emplace_back();
    model.place = first + i;
    model.request = &requests[model.place];
    if (references[i].fault) {
      model.fault = references[i].fault->text();
      model.fault_code = references[i].fault->code;
      model.is_workers_fault = is_workers_fault(*references[i].fault);
      continue;
    }
    model.task = canonical(references[i].value->task);
    const Task& task = model.task;
    try {
      model.fragment = cut_whole(task);
      // It is the model, not a part of it.
      model.fragment.task.source.file = model.request->file;
      model.fragment.task.source.cls = model.request->cls;
      model.hash = forward_hash(model.fragment.task);
      model.baseline = baseline_of(model.fragment, task, *model.request);
    } catch (const InputError& error) {
      model.fault = error.what();  // no step makes its result
    }
  }
  return out;
}

// Builds these samples of all models without an accepted one, at once; returns their number.
size_t Suite::build(std::vector<Asked>& batch, size_t first, size_t last,
                    const SuiteOptions& options) {
  size_t wanted = 0;
  std::vector<RecordRequest> proposals;
  std::vector<std::pair<Asked*, size_t>> places;
  for (Asked& asked : batch) {
    asked.built.resize(asked.result.samples.size());
    if (asked.result.verified() || !asked.result.fault.empty()) continue;
    for (size_t k = first; k < std::min(last, asked.built.size()); ++k) {
      ++wanted;
      if (asked.result.samples[k].source.empty()) continue;  // judged already
      proposals.push_back(proposal_request(asked.model->fragment.task.forward,
                                           asked.result.samples[k].source, profile_));
      places.emplace_back(&asked, k);
    }
  }
  std::vector<JobOutcome<BuiltTask>> built = built_by_crew(proposals, build_plan(options.verify));
  for (size_t i = 0; i < places.size(); ++i) {
    auto& [asked, k] = places[i];
    if (built[i].fault) {
      end_unbuilt(asked->result.samples[k].verdict, *built[i].fault);
    } else {
      built[i].value->task = canonical(built[i].value->task);
      asked->built[k] = {std::move(proposals[i]), std::move(*built[i].value)};
    }
  }
  return wanted;
}

// Asks the policies, one after the other; all samples of a model follow each other.
std::vector<Suite::Asked> Suite::ask(std::vector<Model>& models, const SuiteOptions& options) {
  std::vector<Asked> out;
  for (Model& model : models) {
    for (size_t policy = 0; policy < policies_.size(); ++policy) {
      Asked& asked = out.emplace_back();
      asked.model = &model;
      SuiteResult& result = asked.result;
      result.policy = policy;
      result.place = model.place;
      result.model = model.request->file;
      result.fault = model.fault;
      result.fault_code = model.fault_code;
      result.is_workers_fault = model.is_workers_fault;
      result.task = model.hash;
    }
  }
  for (size_t policy = 0; policy < policies_.size(); ++policy) {
    std::string what = "asked the policy";
    if (policies_.size() > 1) what += " no. " + std::to_string(policy + 1);
    timed(options, what, [&] { return propose(out, policy, options), 0; });
  }
  return out;
}

// Asks about several models at once, each with all its samples: as many as the policy has requests
// in flight, or the crew has cores.
void Suite::propose(std::vector<Asked>& batch, size_t policy, const SuiteOptions& options) {
  std::vector<Asked*> open;
  for (Asked& asked : batch) {
    if (asked.result.policy == policy && asked.result.fault.empty()) open.push_back(&asked);
  }
  const Policy& asked = *policies_[policy];
  const int each = asked.draws() ? options.samples_of(policy) : 1;  // waited for together
  const int threads = asked.at_once() > 1 ? asked.at_once() / each : crew_.size();
  on_threads(threads, open.size(), [&](size_t i) { propose(*open[i], options); });
}

void Suite::propose(Asked& asked, const SuiteOptions& options) {
  Policy& policy = *policies_[asked.result.policy];
  const Task& task = asked.model->fragment.task;
  const auto deadline = Clock::now() + policy.patience();
  std::vector<Proposal> proposals;
  try {
    proposals = policy.propose(task, profile_, options.samples_of(asked.result.policy),
                               options.seed, deadline);
  } catch (const InputError& error) {
    if (policy.at_once() > 1) throw;  // the endpoint refuses every task
    asked.result.fault = error.what();
    return;
  }
  for (Proposal& p : proposals) {
    SuiteSample sample;
    sample.family = p.family;
    sample.plan = p.plan;
    sample.source = p.source;
    sample.schedule = std::move(p.schedule);
    if (p.source.empty()) sample.verdict = unwritten(p);
    asked.result.samples.push_back(std::move(sample));
  }
  if (asked.result.samples.empty()) asked.result.refusal = policy.refusal(task, profile_);
}

void Suite::judge(Workers& workers, Asked& asked, size_t first, const SuiteOptions& options) {
  const auto from = asked.built.begin() + static_cast<long>(std::min(first, asked.built.size()));
  const bool anything =
      std::any_of(from, asked.built.end(), [](const auto& task) { return task.has_value(); });
  if (!anything) return;
  const Clock::time_point start = Clock::now();
  VerifyOptions verify = options.verify;
  verify.compiled_package = asked.model->package;
  Verifier verifier(workers, executor_, profile_);
  const Reference reference = verifier.prepare(asked.model->fragment.task);
  asked.result.floor_ms = 1e3 * physical_floor(reference.task, profile_);
  try {
    if (options.side_by_side) {
      judge_side_by_side(verifier, asked, reference, verify);
    } else {
      judge_one(verifier, asked, first, reference, verify);
    }
  } catch (const InputError& error) {  // the model itself does not run
    asked.result.fault = error.what();
  }
  executor_.unload(reference.id);
  if (options.until_accepted && asked.result.verified()) {
    asked.result.samples.resize(first + 1);
    asked.built.resize(first + 1);
  }
  for (size_t k = 0; k < asked.built.size(); ++k) {
    SuiteSample& sample = asked.result.samples[k];
    if (!sample.in_full || sample.verdict.outcome != Verdict::Outcome::kAccepted) continue;
    put_in_place(asked, sample, asked.built[k]->task.task);
  }
  asked.result.judge_seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

void Suite::put_in_place(const Asked& asked, SuiteSample& sample, const Task& program) {
  const Model& model = *asked.model;
  try {
    sample.python =
        export_python(splice(model.task, {{model.fragment, program}}), model.request->text);
  } catch (const InputError&) {  // it cannot be exported: the source has to do
  }
}

void Suite::judge_one(Verifier& verifier, Asked& asked, size_t k, const Reference& reference,
                      const VerifyOptions& options) {
  if (!asked.built[k]) return;
  SuiteSample& sample = asked.result.samples[k];
  auto& [request, built] = *asked.built[k];
  verifier.judge_built(reference, request, options, built, sample.verdict);
  add_phases(phase_seconds(sample.verdict), asked.result);
  sample.in_full = true;
}

void Suite::judge_side_by_side(Verifier& verifier, Asked& asked, const Reference& reference,
                               const VerifyOptions& options) {
  std::vector<SuiteSample>& samples = asked.result.samples;
  std::vector<size_t> right;
  for (size_t k = 0; k < asked.built.size(); ++k) {
    if (!asked.built[k]) continue;
    auto& [request, built] = *asked.built[k];
    JobOutcome<Task> task = adopted(reference, built.task, request);
    if (task.fault) {
      end_unbuilt(samples[k].verdict, *task.fault);
      continue;
    }
    built.task = std::move(*task.value);
    verifier.judge(reference, built.task, screening(options), samples[k].verdict);
    add_phases(phase_seconds(samples[k].verdict), asked.result);
    if (samples[k].verdict.outcome == Verdict::Outcome::kAccepted) right.push_back(k);
  }
  if (options.time && !right.empty()) time(asked, reference, right, options);
  std::erase_if(
      right, [&](size_t k) { return samples[k].verdict.outcome != Verdict::Outcome::kAccepted; });
  std::stable_sort(right.begin(), right.end(),
                   [&](size_t a, size_t b) { return samples[a].device_ms < samples[b].device_ms; });
  // The fastest that is accepted in full.
  VerifyOptions whole = options;
  whole.time = false;
  for (size_t k : right) {
    Verdict verdict;
    auto& [request, built] = *asked.built[k];
    verifier.judge_built(reference, request, whole, built, verdict);
    add_phases(phase_seconds(verdict), asked.result);
    verdict.speedup_eager = samples[k].verdict.speedup_eager;
    verdict.speedup_compile = samples[k].verdict.speedup_compile;
    samples[k].verdict = std::move(verdict);
    samples[k].in_full = true;
    if (samples[k].verdict.outcome == Verdict::Outcome::kAccepted) break;
  }
}

void Suite::time(Asked& asked, const Reference& reference, const std::vector<size_t>& right,
                 const VerifyOptions& options) {
  std::vector<const Task*> candidates;
  for (size_t k : right) candidates.push_back(&asked.built[k]->task.task);
  VerifyOptions without = options;
  TimeReport report = time_side_by_side(executor_, reference, candidates, options);
  if (!report.ok() && !options.compiled_package.empty()) {  // may be the package's fault
    without.compiled_package.clear();
    report = time_side_by_side(executor_, reference, candidates, without);
  }
  add_phases(report.phases, asked.result);
  const bool timed = report.ok();
  const bool packaged = timed && !without.compiled_package.empty();
  if (timed) asked.result.eager_ms = median(report.device_ms[0]);
  if (packaged) asked.result.compiled_ms = median(report.device_ms.back());
  for (size_t i = 0; i < right.size(); ++i) {
    SuiteSample& sample = asked.result.samples[right[i]];
    Verdict& verdict = sample.verdict;
    if (!timed) {
      verdict.outcome = Verdict::Outcome::kNotJudged;
      verdict.reason = "timing failed: " + report.message;
      continue;
    }
    verdict.reason = time_fault(report, i + 1, asked.result.floor_ms);
    if (!verdict.reason.empty()) {
      verdict.outcome = Verdict::Outcome::kRejected;
      verdict.rejected_at = Stage::kTime;
      continue;
    }
    const std::vector<double>& own = report.device_ms[i + 1];
    sample.device_ms = median(own);
    verdict.speedup_eager = median_ratio(report.device_ms[0], own);
    if (packaged) verdict.speedup_compile = median_ratio(report.device_ms.back(), own);
  }
}

}  // namespace kw
