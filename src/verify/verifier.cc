#include "verify/verifier.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "ops/operator.h"
#include "program/python/export.h"
#include "program/rewrite/adopt.h"
#include "program/rewrite/algebra.h"
#include "program/rewrite/transform.h"
#include "runtime/held_task.h"
#include "runtime/sanitizer.h"
#include "verify/aliasing.h"
#include "verify/blame.h"
#include "verify/coverage/coverage.h"
#include "verify/coverage/excess.h"
#include "verify/coverage/opaque_calls.h"
#include "verify/trials.h"
#include "verify/verdict/statistics.h"
#include "verify/verdict/tree_text.h"
#include "worker/process/process.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Appends a stage; a failed one rejects the candidate. Returns `passed`.
bool finish_stage(Verdict& verdict, StageResult stage) {
  if (!stage.passed) {
    verdict.outcome = Verdict::Outcome::kRejected;
    verdict.rejected_at = stage.stage;
    verdict.reason = stage.reason;
  }
  verdict.stages.push_back(std::move(stage));
  return verdict.stages.back().passed;
}

// Whether an executor's answer says nothing of the candidate. On the CPU it runs none of the
// candidate's code, so what it dies of, or takes too long for, is the task's size or the machine.
bool says_nothing(ReplyStatus status, bool on_cpu) {
  return status == ReplyStatus::kNotJudged || (status == ReplyStatus::kDied && on_cpu);
}

bool not_judged(Verdict& verdict, StageResult stage, const std::string& why) {
  stage.passed = false;
  stage.reason = why;
  verdict.outcome = Verdict::Outcome::kNotJudged;
  verdict.reason = why;
  verdict.stages.push_back(std::move(stage));
  return false;
}

// What the verdict says of times: of each contestant, and round by round how much faster the
// candidate (1) was than eager (0).
void add_times(const TimeReport& report, const std::vector<std::string>& names, Json& evidence) {
  for (size_t i = 0; i < names.size(); ++i) {
    Json& row = evidence[names[i]];
    row = {{"device_ms", median(report.device_ms[i])}};
    if (!report.wall_ms[i].empty()) row["wall_ms"] = median(report.wall_ms[i]);
    if (i != 1) {
      row["speedup"] = interval_to_json(median_ratio(report.device_ms[i], report.device_ms[1]));
    }
  }
  evidence["rounds"] = report.device_ms[0].size();
  for (size_t i = 0; i < report.device_ms[0].size(); ++i) {
    evidence["ratios"].push_back(report.device_ms[0][i] / report.device_ms[1][i]);
  }
  if (report.processor_mhz.empty()) return;
  evidence["processor_mhz"] = {
      {"median", median(report.processor_mhz)},
      {"lowest", *std::min_element(report.processor_mhz.begin(), report.processor_mhz.end())}};
  evidence["throttled_rounds"] = report.throttled_rounds;
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g%%", 100 * share);
  return text;
}

// Differences that no run is needed to see.
std::string interface_fault(const Task& reference, const Task& candidate) {
  // As text: to Json, 3 is 3.0.
  if (candidate.arguments.dump() != reference.arguments.dump()) {
    return "forward takes other arguments than the reference's";
  }
  if (candidate.result.dump() != reference.result.dump()) {
    return "forward returns " + one_line(tree_text(candidate.result), 200) +
           ", where the reference's returns " + one_line(tree_text(reference.result), 200);
  }
  for (size_t i = 0; i < reference.forward.outputs.size(); ++i) {
    const Value& want = reference.forward.values[reference.forward.outputs[i]];
    const Value& have = candidate.forward.values[candidate.forward.outputs[i]];
    if (want.dtype != have.dtype || want.shape != have.shape) {
      return "output " + std::to_string(i) + " is " + std::string(dtype_name(have.dtype)) + " " +
             Json(have.shape).dump() + " where the reference has " +
             std::string(dtype_name(want.dtype)) + " " + Json(want.shape).dump();
    }
  }
  return aliasing_fault(reference.forward, candidate.forward);
}

// What all trials say of a candidate: why it is wrong, empty when it is right, nothing (and why)
// when they end without a report. `neighbours`: TrialRequest.
std::optional<std::string> tried(Executor& executor, const LoadedPair& tasks, bool neighbours,
                                 const VerifyOptions& options, TrialJudge& judge,
                                 std::string& no_report) {
  const bool on_cpu = executor.hello().value("backend", "") == "cpu";
  std::string reason;
  bool reported = true;
  std::vector<TrialRequest> trials = plan_trials(tasks, options);
  for (TrialRequest& trial : trials) trial.neighbours = neighbours;
  while (!trials.empty() && reason.empty()) {
    std::vector<TrialRequest> instead;
    executor.trials(trials, options.trial_deadline, [&](size_t i, const TrialReport& report) {
      if (says_nothing(report.status, on_cpu)) {
        no_report = report.message;
        reported = false;
        return false;
      }
      reason = judge.add(trials[i], report);
      if (judge.said_nothing()) {
        const auto others = trials_instead(trials[i], tasks.reference);
        instead.insert(instead.end(), others.begin(), others.end());
      }
      return reason.empty();
    });
    if (!reported) return std::nullopt;
    trials = std::move(instead);
  }
  return reason.empty() ? judge.together() : reason;
}

bool runs_more_than_forward(const ModuleSource& model) {
  return model.hooks > 0 || (model.hiding && std::ranges::count(*model.hiding, "forward") > 0);
}

}  // namespace

Stage stage_of(const JobFault& fault) {
  if (fault.code == "syntax" || fault.code == "missing") return Stage::kLoad;
  return fault.job == "slice" || fault.job == "compile" ? Stage::kCompile : Stage::kRecord;
}

bool is_workers_fault(const JobFault& fault) { return fault.status == JobResult::Status::kFailed; }

void throw_fault(const JobFault& fault) {
  if (is_workers_fault(fault)) throw EnvironmentError(fault.text());
  throw FileFault(fault);
}

uint64_t secret_seed() {
  std::random_device device;
  return (uint64_t{device()} << 20) ^ device();  // well inside what generators take as a seed
}

bool is_in_sample(const std::string& purpose, const std::string& program, double share) {
  constexpr double kAll = 0xFFFFFFFFp0 + 1;
  const std::string hash = sha256_hex(purpose + " " + program).substr(0, 8);
  return static_cast<double>(std::stoull(hash, nullptr, 16)) < share * kAll;
}

BuildPlan build_plan(const VerifyOptions& options) {
  return {.record_deadline = options.record_deadline, .compile_deadline = options.compile_deadline};
}

Reference Verifier::prepare(const RecordRequest& request, const VerifyOptions& options) {
  JobOutcome<BuiltTask> built = build_and_blame(workers_, request, build_plan(options));
  if (built.fault) throw_fault(*built.fault);
  Reference reference = prepare(canonical(built.value->task));
  reference.record_seconds = built.value->record_seconds;
  reference.warnings = std::move(built.value->warnings);
  return reference;
}

RecordRequest Verifier::without_candidate(RecordRequest request, const std::string& candidate,
                                          const VerifyOptions& options) {
  if (request.text.find("class " + candidate) == std::string::npos) return request;
  JobOutcome<std::string> rest =
      text_without(workers_, request, candidate, options.record_deadline);
  if (rest.fault) throw_fault(*rest.fault);
  RecordRequest alone = request;
  alone.text = std::move(*rest.value);
  if (alone.text == request.text) return request;
  std::string hashes[2];
  for (const RecordRequest* each : {&request, &alone}) {
    JobOutcome<BuiltTask> built = build_and_blame(workers_, *each, build_plan(options));
    if (built.fault) throw_fault(*built.fault);
    hashes[each == &alone] = canonical_hash(built.value->task);
  }
  if (hashes[0] != hashes[1]) {
    throw InputError(request.file + ": " + request.cls + " does something else once " + candidate +
                     " is taken out of the file: put them into two files");
  }
  return alone;
}

Reference Verifier::prepare(Task task) {
  Reference reference;
  reference.task = std::move(task);
  reference.id = executor_.load(reference.task);
  return reference;
}

bool Verifier::build(const RecordRequest& request, const VerifyOptions& options, Verdict& verdict,
                     BuiltTask& out, const Claim& claim) {
  BuildPlan plan = build_plan(options);
  plan.cache = &cache_;
  plan.attempts = 2;
  CandidateBuild build(request, plan);
  Clock::time_point start = Clock::now();
  run_build(workers_, build, BuildStage::kSlice);
  StageResult record{Stage::kRecord, true, "", Json::object(), since(start)};
  if (!check_build(build, record.seconds, verdict)) return false;
  // Kernels may be defined in other files, so that the recording has to tell.
  if (build.recorded()->task.kernels.empty() && request.text.find("triton") == std::string::npos &&
      !options.without.contains("share")) {
    return finish_stage(verdict,
                        {Stage::kLoad, false, "there is no Triton kernel in " + request.file});
  }
  record.evidence = {{"steps", build.recorded()->task.forward.steps.size()},
                     {"kernels", build.recorded()->task.kernels.size()},
                     {"worker_seconds", build.recorded()->seconds}};
  finish_stage(verdict, {Stage::kLoad, true});
  finish_stage(verdict, std::move(record));

  start = Clock::now();
  run_build(workers_, build, BuildStage::kCompile);
  if (!build.fault()) {
    if (claim && !claim(build)) return false;
    start = Clock::now();
    run_build(workers_, build);
  }
  const double compile_seconds = since(start);
  if (!check_build(build, compile_seconds, verdict)) return false;
  out = *std::move(build).outcome().value;
  out.task = canonical(out.task);
  return finish_stage(verdict, compiled_stage(out.task, compile_seconds));
}

// Returns whether the build goes on. If it has a fault, that ends the verdict.
bool Verifier::check_build(const CandidateBuild& build, double seconds, Verdict& verdict) {
  if (!build.fault()) return true;
  end_unbuilt(verdict, blamed(workers_, profile_, *build.fault()), seconds);
  return false;
}

Verdict Verifier::verify(const Reference& reference, RecordRequest request,
                         const VerifyOptions& options, Task* candidate) {
  request.without.assign(options.without.begin(), options.without.end());
  Verdict verdict;
  BuiltTask built;
  if (!build(request, options, verdict, built)) return verdict;
  judge_built(reference, request, options, built, verdict);
  if (candidate) *candidate = std::move(built.task);
  return verdict;
}

void Verifier::judge(const Reference& reference, const Task& candidate,
                     const VerifyOptions& options, Verdict& verdict) {
  verdict.environment = executor_.hello();
  verdict.program = canonical_hash(candidate);
  verdict.key =
      sha256_hex(canonical_hash(reference.task) + verdict.program + verdict.environment.dump());
  for (const SandboxLayer& layer : workers_.sandbox()) {
    verdict.environment["sandbox"][layer.name] = layer.active;
  }
  if (!check_coverage(reference, candidate, options, {}, verdict)) return;
  const HeldTask held(executor_, candidate);
  LaunchFindings launches;
  bool accepted = check_correct(reference, held.id(), options, verdict, launches) &&
                  check_sanitized(reference, candidate, options, verdict);
  // Some launches may earn nothing, as the trials found out.
  if (accepted && !launches.empty()) {
    accepted = check_coverage(reference, candidate, options, launches, verdict);
  }
  if (accepted && options.time) accepted = check_time(reference, held.id(), options, verdict);
  if (accepted) verdict.outcome = Verdict::Outcome::kAccepted;
}

JobOutcome<std::string> Verifier::exported(const Reference& reference, const RecordRequest& request,
                                           const Task& task, const VerifyOptions& options) {
  RecordRequest again = request;
  again.text = export_python(task, request.text);
  again.file = "optimized.py";
  again.cls = "ModelNew";
  again.harness_text = request.text;
  again.harness_file = request.file;
  BuildPlan plan = build_plan(options);
  plan.cache = &cache_;
  const JobOutcome<BuiltTask> built = build_and_blame(workers_, again, plan);
  if (built.fault) return {std::nullopt, built.fault};
  const JobOutcome<Task> recorded = adopted(reference, canonical(built.value->task), again);
  if (recorded.fault) return {std::nullopt, recorded.fault};
  if (const std::string where = difference(task, *recorded.value); !where.empty()) {
    std::string why =
        "optimized.py as it was written does not record as the program that was judged";
    const auto root = task.source.modules.find("");
    if (root != task.source.modules.end() && runs_more_than_forward(root->second)) {
      why +=
          ", as a call of the model is more than its class's forward (hooks, or another forward)";
    }
    for (const std::string& warning : built.value->warnings) why += ". " + warning;
    why += " (at " + where + ")";
    return {std::nullopt,
            JobFault{JobResult::Status::kRefused, "export", why, again.file, 0, "record"}};
  }
  return {std::move(again.text), std::nullopt};
}

bool Verifier::is_correct(const Reference& reference, const Task& candidate,
                          VerifyOptions options) {
  if (!interface_fault(reference.task, candidate).empty()) return false;
  options.noop_checks = false;  // there may be no launches
  Verdict verdict;
  LaunchFindings launches;
  const HeldTask held(executor_, candidate);
  return check_correct(reference, held.id(), options, verdict, launches);
}

bool Verifier::check_coverage(const Reference& reference, const Task& candidate,
                              const VerifyOptions& options, const LaunchFindings& launches,
                              Verdict& verdict) {
  const Clock::time_point start = Clock::now();
  StageResult stage{Stage::kCoverage, true, "", Json::object(), 0};
  const Coverage found = coverage(reference.task, candidate, launches);
  verdict.share = found.share;
  stage.evidence = {{"share", found.share},
                    {"flops_share", found.flops_share},
                    {"bytes_share", found.bytes_share},
                    {"launches_alive", found.launches_alive},
                    {"idle_launches", launches.idle},
                    {"copying_launches", found.copying},
                    {"aten_left", found.aten_left}};
  const bool shared = options.without.contains("share");  // as far as this check is concerned
  if (found.launches_alive == 0 && !found.copying.empty() && !shared) {
    stage.reason =
        "its kernels only copy or scale what PyTorch computes by other operators than the "
        "reference's";
  } else if (found.launches_alive == 0 && !shared) {
    stage.reason = "no kernel launch contributes to the result";
    if (candidate.kernels.empty()) {
      stage.reason +=
          ": forward launches none, or does not use what they write (does it fall back to PyTorch "
          "for these shapes?)";
    }
  } else if (options.pure && !found.aten_left.empty() && !shared) {
    const size_t others = found.aten_left.size() - 1;
    stage.reason = "PyTorch still computes " + found.aten_left.front() +
                   (others > 0 ? " and " + std::to_string(others) + " more" : "") +
                   ", where every operator is to be a Triton kernel (--coverage pure)";
  } else if (found.share < options.minimum_share && !shared) {
    stage.reason = "Triton kernels do " + percent_text(found.share) +
                   " of the reference's work, where at least " +
                   percent_text(options.minimum_share) + " is asked for";
  } else if (const std::string calls = other_opaque_calls(reference.task, candidate);
             !calls.empty() && !options.without.contains("opaque")) {
    stage.reason = calls + " [opaque]";
  } else if (const std::string fault = excess(reference.task, candidate); !fault.empty()) {
    stage.stage = Stage::kCorrect;
    stage.reason = fault;
  } else if (const std::string fault = interface_fault(reference.task, candidate);
             !fault.empty() && !options.without.contains("interface")) {
    stage.stage = Stage::kCorrect;
    stage.reason = fault;
  }
  stage.passed = stage.reason.empty();
  stage.seconds = since(start);
  return finish_stage(verdict, stage);
}

bool Verifier::check_correct(const Reference& reference, int candidate_id,
                             const VerifyOptions& options, Verdict& verdict,
                             LaunchFindings& launches) {
  const Clock::time_point start = Clock::now();
  StageResult stage{Stage::kCorrect, true, "", Json::object(), 0};
  const LoadedPair tasks{reference.task, reference.id, candidate_id};
  std::string no_report;
  std::optional<TrialJudge> judge;
  std::optional<std::string> reason;
  for (const bool neighbours : {false, true}) {
    judge.emplace(options, reference.task);
    reason = tried(executor_, tasks, neighbours, options, *judge, no_report);
    stage.evidence["neighbours"] = neighbours;
    if (!reason || !judge->in_doubt()) break;
  }
  stage.seconds = since(start);
  if (!reason) return not_judged(verdict, stage, no_report);
  stage.reason = *reason;
  stage.passed = stage.reason.empty();
  stage.evidence["trials"] = judge->evidence();
  if (const auto allclose = judge->allclose()) stage.evidence["allclose"] = *allclose;
  launches = judge->launches();
  verdict.degenerate = judge->degenerate();
  return finish_stage(verdict, stage);
}

bool Verifier::check_sanitized(const Reference& reference, const Task& candidate,
                               const VerifyOptions& options, Verdict& verdict) {
  if (!options.sanitizer || !is_in_sample("sanitize", verdict.program, options.sanitized_share)) {
    return true;
  }
  SanitizerReport report;
  executor_.beside(reference.id, [&] {
    report =
        options.sanitizer->inspect(reference.task, candidate, options.seed, options.trial_deadline);
  });
  StageResult stage = std::move(verdict.stages.back());
  verdict.stages.pop_back();
  stage.seconds += report.seconds;
  const Json& said = stage.evidence["sanitizer"] = to_json(report);
  const std::string found = findings_text(said["findings"]);
  if (!found.empty() && !options.without.contains("sanitizer")) {
    stage.passed = false;
    stage.reason = found + " [sanitizer]";
  }
  return finish_stage(verdict, std::move(stage));
}

bool Verifier::check_time(const Reference& reference, int candidate_id,
                          const VerifyOptions& options, Verdict& verdict) {
  const Clock::time_point start = Clock::now();
  StageResult stage{Stage::kTime, true, "", Json::object(), 0};
  TimeRequest request;
  request.tasks = {reference.id, candidate_id};
  std::vector<std::string> names = {"eager", "candidate"};
  if (!options.compiled_package.empty()) {
    request.packages.push_back({options.compiled_package});
    names.emplace_back("torch.compile");
  }
  for (const CompiledBaseline& baseline : options.further_baselines) {
    request.packages.push_back(baseline.package);
    names.push_back(baseline.name);
  }
  request.rounds = options.rounds;
  request.width = options.width;
  request.max_seconds = options.timing_seconds;
  request.seed = options.seed;
  const TimeReport report = executor_.time(request, options.trial_deadline);
  stage.seconds = since(start);
  if (report.status == ReplyStatus::kNotJudged) return not_judged(verdict, stage, report.message);
  if (!report.ok()) {
    stage.passed = false;
    stage.reason = report.message;
    return finish_stage(verdict, stage);
  }
  verdict.speedup_eager = median_ratio(report.device_ms[0], report.device_ms[1]);
  if (!options.compiled_package.empty()) {
    verdict.speedup_compile = median_ratio(report.device_ms[2], report.device_ms[1]);
  }
  add_times(report, names, stage.evidence);
  stage.evidence["phases"] = report.phases;
  const double floor_ms = 1e3 * physical_floor(reference.task, profile_);
  if (floor_ms > 0) stage.evidence["floor_ms"] = floor_ms;
  stage.reason = time_fault(report, 1, floor_ms, options.without);
  stage.passed = stage.reason.empty();
  return finish_stage(verdict, stage);
}

JobOutcome<Task> adopted(const Reference& reference, const Task& candidate,
                         const RecordRequest& request) {
  const auto refused = [&](const char* code, const std::string& why) {
    return JobOutcome<Task>{
        std::nullopt, JobFault{JobResult::Status::kRefused, code, why, request.file, 0, "record"}};
  };
  Adoption adoption;
  try {
    adoption = adopt(reference.task, candidate);
  } catch (const InputError& error) {
    return refused("adopt", error.what());
  }
  if (!adoption.task) return refused("adopt", adoption.fault);
  try {
    export_python(*adoption.task, request.harness_text);
  } catch (const InputError& error) {
    return refused("export", error.what());
  }
  return {std::move(adoption.task), std::nullopt};
}

std::string time_fault(const TimeReport& report, size_t place, double floor_ms,
                       const CheckNames& without) {
  const double measured = median(report.device_ms[place]);
  if (!report.outputs_checked.empty() && !report.outputs_checked[place] &&
      !without.contains("timed outputs")) {
    return "the timed runs gave other outputs than the runs that were judged";
  }
  if (measured >= 0.9 * floor_ms || without.contains("floor")) return "";
  return "a run takes " + std::to_string(measured) +
         " ms by the clock, where the device needs at least " + std::to_string(floor_ms) +
         " ms for the reference's work";
}

void end_unbuilt(Verdict& verdict, const JobFault& fault, double seconds) {
  const Stage stage = stage_of(fault);
  std::erase_if(verdict.stages, [&](const StageResult& earlier) { return earlier.stage >= stage; });
  StageResult failed{stage, false, fault.text(), Json::object(), seconds};
  if (is_workers_fault(fault)) {
    not_judged(verdict, std::move(failed), fault.text());
    return;
  }
  for (const Stage passed : {Stage::kLoad, Stage::kRecord}) {
    if (passed < stage && !find_stage(verdict, passed)) finish_stage(verdict, {passed, true});
  }
  finish_stage(verdict, std::move(failed));
}

StageResult compiled_stage(const Task& task, double seconds) {
  StageResult stage{Stage::kCompile, true, "", Json::object(), seconds};
  for (const Kernel& kernel : task.kernels) {
    stage.evidence["kernels"].push_back({{"name", kernel.name},
                                         {"source", sha256_hex(kernel.source)},
                                         {"shared", kernel.compiled->shared},
                                         {"registers", kernel.compiled->registers},
                                         {"spills", kernel.compiled->spills}});
  }
  return stage;
}

double physical_floor(const Task& reference, const DeviceProfile& profile) {
  const auto simple = simplified(reference);
  const Task& task = simple ? simple->task : reference;
  // What is written last may still be in L2 when the clock stops.
  double bytes = -static_cast<double>(profile.l2_bytes), products = 0;
  for (ValueId id : task.forward.outputs) {
    bytes += static_cast<double>(task.forward.values[id].bytes());
  }
  for (const Step& step : task.forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    if (row && row->cls == OpClass::kMatmul) products += step_cost(task.forward, step).flops;
  }
  return std::max({0.0, bytes / profile.bytes_per_second, products / profile.half_flops});
}

}  // namespace kw
