#include "verify/verifier.h"

#include <algorithm>
#include <random>

#include "formats/error.h"
#include "formats/sha256.h"
#include "ops/operator.h"
#include "program/algebra.h"
#include "program/transform.h"
#include "verify/aliasing.h"
#include "verify/blame.h"
#include "verify/coverage.h"
#include "verify/statistics.h"

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
bool says_nothing(const std::string& status, ExecutorClient& executor) {
  return status == "not-judged" ||
         (status == "died" && executor.hello().value("backend", "") == "cpu");
}

bool not_judged(Verdict& verdict, StageResult stage, const std::string& why) {
  stage.reason = why;
  verdict.outcome = Verdict::Outcome::kNotJudged;
  verdict.reason = why;
  verdict.stages.push_back(std::move(stage));
  return false;
}

Json errors_to_json(const OutputErrors& e) {
  const ErrorBounds bounds = error_bounds(e);
  return {{"dtype", e.dtype},
          {"exact", e.exact_equal},
          {"reference_rms", e.reference_rms},
          {"candidate_rms", e.candidate_rms},
          {"allowed_rms", bounds.rms},
          {"reference_worst", e.reference_worst},
          {"candidate_worst", e.candidate_worst},
          {"allowed_worst", bounds.worst}};
}

bool reference_is_finite(const TrialReport& report) {
  return std::all_of(report.outputs.begin(), report.outputs.end(),
                     [](const OutputErrors& e) { return e.reference_finite; });
}

// A varied set may leave a task's domain, and says nothing then. But where a task has NaN or
// infinite results as it is, a varied set is judged by what is finite in fp64 and in the reference:
// the candidate must be finite there too, and elsewhere it may be anything. False when that is too
// little.
bool judge_finite_part(TrialReport& report) {
  for (OutputErrors& e : report.outputs) {
    if (e.reference_finite) continue;
    if (e.finite < kFewElements) return false;
    e.nonfinite_mismatch = e.lost;
  }
  return true;
}

// Why a trial's candidate is wrong; empty when it is right.
std::string trial_fault(const TrialReport& report, const TrialRequest& request,
                        const VerifyOptions& options) {
  const auto checked = [&](std::string_view check) { return !options.without.contains(check); };
  auto with_detail = [&](const std::string& text) {
    return report.difference.empty() ? text : text + ": " + report.difference;
  };
  if (!report.guards_intact && checked("guards"))
    return with_detail("writes outside of its buffers");
  if (!report.inputs_unchanged && checked("inputs"))
    return with_detail("leaves other inputs than the reference");
  if (!report.state_equal && checked("buffers"))
    return with_detail("has other parameters than the reference");
  for (size_t i = 0; i < report.outputs.size() && checked("outputs"); ++i) {
    const std::string fault = request.variation == Variation::kIntegers
                                  ? integer_fault(report.outputs[i])
                                  : output_fault(report.outputs[i], options.tolerance);
    if (fault.empty()) continue;
    return "output " + std::to_string(i) + " (" + std::string(variation_name(request.variation)) +
           " inputs): " + fault;
  }
  if (!report.buffers_equal && checked("buffers"))
    return with_detail("leaves other buffers than the reference");
  if (request.check_noop && !report.no_launch_changes) {
    return "leaving out every kernel launch changes nothing";
  }
  return {};
}

// Whether some output has to be judged by many trials together.
bool has_few_elements(const Task& task) {
  return std::any_of(task.forward.outputs.begin(), task.forward.outputs.end(), [&](ValueId id) {
    const Value& value = task.forward.values[id];
    return is_floating(value.dtype) && value.numel() < kFewElements;
  });
}

// Whether a trial on integers says something: the program sums, and all that it does gives integers
// from integers.
bool gives_integers(const Task& task) {
  bool sums = false;
  for (const Step& step : task.forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    if (!row || !work_row(*row).integers) return false;
    const Numerics numerics = work_row(*row).numerics;
    sums = sums || numerics == Numerics::kMatmul || numerics == Numerics::kReduction;
  }
  return sums;
}

// Published numbers come from inputs as a task draws them.
bool varies(const VerifyOptions& options) {
  return options.variations && !options.without.contains("variations") &&
         options.tolerance != Tolerance::kKernelBench;
}

std::vector<TrialRequest> plan_trials(const Reference& reference, int candidate,
                                      const VerifyOptions& options) {
  std::vector<TrialRequest> out;
  int trials = options.trials > 0 ? options.trials : usual_trials(reference.task, options);
  if (has_few_elements(reference.task)) trials = std::max(trials, ErrorPool::kTrials);
  for (int i = 0; i < trials; ++i) {
    TrialRequest request;
    request.reference = reference.id;
    request.candidate = candidate;
    request.seed = options.seed + static_cast<uint64_t>(i);
    request.second_call = !options.without.contains("second-call");
    request.used_memory = i % 2 == 1;  // a kernel may know poison when it sees it
    request.guards = !options.without.contains("guards");
    request.check_noop = request.each_launch =
        i == 0 && options.noop_checks && !options.without.contains("noop");
    out.push_back(request);
  }
  if (!varies(options)) return out;
  TrialRequest varied = out.front();
  varied.check_noop = varied.each_launch = false;
  for (Variation v : {Variation::kScaleDown, Variation::kScaleUp, Variation::kFlipped,
                      Variation::kMixedSigns, Variation::kAffine}) {
    varied.variation = v;
    varied.seed = options.seed + 1000 + static_cast<uint64_t>(v);
    out.push_back(varied);
  }
  if (gives_integers(reference.task) && !options.without.contains("integers")) {
    varied.variation = Variation::kIntegers;
    varied.seed = options.seed + 1000 + static_cast<uint64_t>(Variation::kIntegers);
    out.push_back(varied);
  }
  return out;
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

// Differences that no run is needed to see.
std::string interface_fault(const Task& reference, const Task& candidate) {
  // As text: to Json, 3 is 3.0.
  if (candidate.arguments.dump() != reference.arguments.dump()) {
    return "forward takes other arguments";
  }
  if (candidate.result.dump() != reference.result.dump()) {
    return "returns another structure: " + candidate.result.dump() + " where the reference has " +
           reference.result.dump();
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

}  // namespace

Stage stage_of_code(const std::string& code) {
  if (code == "syntax" || code == "missing") return Stage::kLoad;
  if (code == "slice" || code == "compile" || code == "resources") return Stage::kCompile;
  return Stage::kRecord;
}

int usual_trials(const Task& reference, const VerifyOptions& options) {
  constexpr int64_t kMany = int64_t{1} << 20;
  const auto& outputs = reference.forward.outputs;
  const bool many = std::all_of(outputs.begin(), outputs.end(), [&](ValueId id) {
    return reference.forward.values[id].numel() >= kMany;
  });
  return many && varies(options) ? 3 : 5;
}

bool is_workers_fault(const JobFault& fault) { return fault.status == JobResult::Status::kFailed; }

void throw_fault(const JobFault& fault) {
  if (is_workers_fault(fault)) throw EnvironmentError(fault.text());
  throw InputError(fault.text());
}

uint64_t secret_seed() {
  std::random_device device;
  return (uint64_t{device()} << 20) ^ device();  // well inside what generators take as a seed
}

Reference Verifier::prepare(const RecordRequest& request, const VerifyOptions& options) {
  JobOutcome<BuiltTask> built = build_and_blame(pool_, request, options.record_deadline);
  if (built.fault) throw_fault(*built.fault);
  Reference reference = prepare(canonical(built.value->task));
  reference.record_seconds = built.value->record_seconds;
  return reference;
}

Reference Verifier::prepare(Task task) {
  Reference reference;
  reference.task = std::move(task);
  reference.id = executor_.load(reference.task);
  return reference;
}

bool Verifier::record(const RecordRequest& request, const VerifyOptions& options, Verdict& verdict,
                      Recorded& out) {
  StageResult load{Stage::kLoad, true, "", Json::object(), 0};
  if (request.text.find("triton") == std::string::npos && !options.without.contains("share")) {
    load.passed = false;
    load.reason = "there is no Triton kernel in it";
    return finish_stage(verdict, load);
  }
  if (const auto fault = text_fault(request)) {
    load.passed = false;
    load.reason = fault->text();
    return finish_stage(verdict, load);
  }
  StageResult record{Stage::kRecord, true, "", Json::object(), 0};
  const Clock::time_point start = Clock::now();
  auto recorded =
      record_result(run_job(pool_, record_job(request, options.record_deadline)), request);
  record.seconds = since(start);
  if (recorded.fault) {
    recorded.fault = blamed(pool_, profile_, std::move(*recorded.fault));
    StageResult& failed = stage_of_code(recorded.fault->code) == Stage::kLoad ? load : record;
    if (is_workers_fault(*recorded.fault))
      return not_judged(verdict, record, recorded.fault->text());
    if (&failed == &record) finish_stage(verdict, load);
    failed.passed = false;
    failed.reason = recorded.fault->text();
    return finish_stage(verdict, failed);
  }
  finish_stage(verdict, load);
  record.evidence = {{"steps", recorded.value->task.forward.steps.size()},
                     {"kernels", recorded.value->task.kernels.size()},
                     {"worker_seconds", recorded.value->seconds}};
  out = std::move(*recorded.value);
  return finish_stage(verdict, record);
}

bool Verifier::slice(const RecordRequest& request, const VerifyOptions& options,
                     const Recorded& recorded, Verdict& verdict, std::vector<std::string>& out) {
  const Clock::time_point start = Clock::now();
  out.clear();
  if (recorded.task.kernels.empty()) return true;
  auto slices = slice_kernels(pool_, recorded, request, options.compile_deadline);
  if (slices.value) {
    out = std::move(*slices.value);
    return true;
  }
  slices.fault = blamed(pool_, profile_, std::move(*slices.fault));
  StageResult stage{Stage::kCompile, false, slices.fault->text(), Json::object(), since(start)};
  return is_workers_fault(*slices.fault) ? not_judged(verdict, stage, slices.fault->text())
                                         : finish_stage(verdict, stage);
}

bool Verifier::compile(const RecordRequest& request, const VerifyOptions& options,
                       const Recorded& recorded, const std::vector<std::string>& slices,
                       Verdict& verdict, BuiltTask& out) {
  const Clock::time_point start = Clock::now();
  out.task = recorded.task;
  out.tunings = recorded.tunings;
  out.configurations.assign(recorded.tunings.size(), 0);
  std::optional<JobFault> fault;
  if (!recorded.task.kernels.empty()) {
    auto compiled =
        compile_sliced(pool_, cache_, recorded, slices, request, options.compile_deadline);
    fault = compiled.fault;
    if (compiled.value) out.task = std::move(*compiled.value);
  }
  if (fault && fault->cannot_run() && !recorded.tunings.empty()) {
    auto other = build_and_blame(pool_, request, options.compile_deadline);
    fault = other.fault;
    if (other.value) out = std::move(*other.value);
  }
  if (!fault) {
    out.task = canonical(out.task);
    return finish_stage(verdict, compiled_stage(out.task, since(start)));
  }
  fault = blamed(pool_, profile_, std::move(*fault));
  StageResult stage{Stage::kCompile, false, fault->text(), Json::object(), since(start)};
  return is_workers_fault(*fault) ? not_judged(verdict, stage, fault->text())
                                  : finish_stage(verdict, stage);
}

Verdict Verifier::verify(const Reference& reference, RecordRequest request,
                         const VerifyOptions& options, Task* candidate) {
  request.without.assign(options.without.begin(), options.without.end());
  Verdict verdict;
  Recorded recorded;
  std::vector<std::string> slices;
  BuiltTask built;
  if (!record(request, options, verdict, recorded) ||
      !slice(request, options, recorded, verdict, slices) ||
      !compile(request, options, recorded, slices, verdict, built)) {
    return verdict;
  }
  judge_built(reference, request, options, built, verdict);
  if (candidate) *candidate = std::move(built.task);
  return verdict;
}

void Verifier::judge(const Reference& reference, const Task& candidate,
                     const VerifyOptions& options, Verdict& verdict) {
  verdict.environment = executor_.hello();
  verdict.key = sha256_hex(canonical_hash(reference.task) + canonical_hash(candidate) +
                           verdict.environment.dump());
  for (const SandboxLayer& layer : pool_.sandbox()) {
    verdict.environment["sandbox"][layer.name] = layer.active;
  }
  if (!check_coverage(reference, candidate, options, {}, verdict)) return;
  const int id = executor_.load(candidate);
  std::vector<int> idle;
  bool accepted = check_correct(reference, id, options, verdict, idle);
  // Launches that turned out to change nothing earn no share.
  if (accepted && !idle.empty()) {
    accepted = check_coverage(reference, candidate, options, idle, verdict);
  }
  if (accepted && options.time) accepted = check_time(reference, id, options, verdict);
  if (accepted) verdict.outcome = Verdict::Outcome::kAccepted;
  executor_.unload(id);
}

bool Verifier::is_correct(const Reference& reference, const Task& candidate,
                          VerifyOptions options) {
  if (!interface_fault(reference.task, candidate).empty()) return false;
  options.noop_checks = false;  // there may be no launches
  Verdict verdict;
  std::vector<int> idle;
  const int id = executor_.load(candidate);
  const bool correct = check_correct(reference, id, options, verdict, idle);
  executor_.unload(id);
  return correct;
}

bool Verifier::check_coverage(const Reference& reference, const Task& candidate,
                              const VerifyOptions& options, const std::vector<int>& idle,
                              Verdict& verdict) {
  const Clock::time_point start = Clock::now();
  StageResult stage{Stage::kCoverage, true, "", Json::object(), 0};
  const Coverage found = coverage(reference.task, candidate, idle);
  verdict.share = found.share;
  stage.evidence = {{"share", found.share},
                    {"flops_share", found.flops_share},
                    {"bytes_share", found.bytes_share},
                    {"launches_alive", found.launches_alive},
                    {"idle_launches", idle},
                    {"aten_left", found.aten_left}};
  const bool shared = options.without.contains("share");  // as far as this check is concerned
  if (found.launches_alive == 0 && !shared) {
    stage.reason = "no kernel launch contributes to the result";
    if (candidate.kernels.empty()) {
      stage.reason +=
          ": forward launches none; a fallback for other shapes than it was written for?";
    }
  } else if (options.pure && !found.aten_left.empty() && !shared) {
    stage.reason = "PyTorch still computes: " + found.aten_left.front() +
                   (found.aten_left.size() > 1 ? " and others" : "");
  } else if (found.share < options.minimum_share && !shared) {
    stage.reason = "Triton share " + std::to_string(found.share) + " is under " +
                   std::to_string(options.minimum_share);
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
                             std::vector<int>& idle) {
  const Clock::time_point start = Clock::now();
  StageResult stage{Stage::kCorrect, true, "", {{"trials", Json::array()}}, 0};
  ErrorPool pool;
  bool finite_task = true;  // on inputs as it draws them
  for (const TrialRequest& request : plan_trials(reference, candidate_id, options)) {
    TrialReport report = executor_.trial(request, options.trial_deadline);
    stage.seconds = since(start);
    Json trial = {{"variation", variation_name(request.variation)}, {"outputs", Json::array()}};
    if (says_nothing(report.status, executor_)) return not_judged(verdict, stage, report.message);
    const bool plain = request.variation == Variation::kPlain;
    const auto skip = [&](const char* why) {
      trial["skipped"] = why;
      stage.evidence["trials"].push_back(trial);
    };
    if (!plain && report.status == "failed" && report.fault == "reference") {
      skip("the reference refuses these inputs");
      continue;
    }
    if (report.status != "ok") {
      if (report.fault == "reference") throw InputError("the reference failed: " + report.message);
      stage.passed = false;
      stage.reason = report.message;
      return finish_stage(verdict, stage);
    }
    const bool finite = reference_is_finite(report);
    finite_task = finite_task && (finite || !plain);
    if (!plain && !finite && (finite_task || !judge_finite_part(report))) {
      skip("the reference itself is not finite on these inputs");
      continue;
    }
    trial["seconds"] = report.seconds;
    trial["phases"] = report.phases;
    trial["peak_bytes"] = report.peak_bytes;  // of the device's allocator, or of the executor
    for (const OutputErrors& e : report.outputs) trial["outputs"].push_back(errors_to_json(e));
    stage.evidence["trials"].push_back(trial);
    if (request.each_launch) idle = report.idle_launches;
    verdict.degenerate =
        verdict.degenerate || (plain && (report.passes_zeros || report.passes_stale));
    stage.reason = trial_fault(report, request, options);
    if (!stage.reason.empty()) {
      stage.passed = false;
      return finish_stage(verdict, stage);
    }
    if (plain) pool.add(report.outputs);
  }
  if (options.tolerance == Tolerance::kCalibrated && !options.without.contains("outputs")) {
    stage.reason = pool.fault();
  }
  stage.passed = stage.reason.empty();
  return finish_stage(verdict, stage);
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
  request.seed = options.seed;
  const TimeReport report = executor_.time(request, options.trial_deadline);
  stage.seconds = since(start);
  if (report.status == "not-judged") return not_judged(verdict, stage, report.message);
  if (report.status != "ok") {
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

std::string time_fault(const TimeReport& report, size_t place, double floor_ms,
                       const CheckNames& without) {
  const double measured = median(report.device_ms[place]);
  if (!report.outputs_checked.empty() && !report.outputs_checked[place] &&
      !without.contains("timed outputs")) {
    return "outputs of the timed runs differ from the judged ones";
  }
  if (measured >= 0.9 * floor_ms || without.contains("floor")) return "";
  return "measured " + std::to_string(measured) + " ms, under the physical floor of " +
         std::to_string(floor_ms) + " ms";
}

Verdict unbuilt(const JobFault& fault) {
  Verdict verdict;
  verdict.reason = fault.text();
  if (is_workers_fault(fault)) return verdict;
  verdict.outcome = Verdict::Outcome::kRejected;
  verdict.rejected_at = stage_of_code(fault.code);
  return verdict;
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
