// kernelwright verify MODEL.py CANDIDATE.py...; kernelwright verify --batch FILE.jsonl
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "cli/verify_batch.h"
#include "formats/base/error.h"
#include "formats/base/exit_code.h"
#include "formats/base/scratch_folder.h"
#include "search/result_folder.h"
#include "verify/baselines.h"
#include "worker/model_file.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// torch.compile's modes.
constexpr const char* kDefault = "default";
constexpr const char* kMaxAutotune = "max-autotune";
constexpr const char* kReduceOverhead = "reduce-overhead";

struct VerifyFlags {
  std::string model, cls = "Model", candidate_cls = "ModelNew";
  std::vector<std::string> candidates;
  std::string out;
  std::string tolerance = "calibrated", coverage = "hybrid";
  int trials = 0, trial_timeout = 300, record_timeout = 60, file_timeout = 60;
  std::vector<std::string> baselines = {kDefault};
  double record_again = 0.02;
  bool json = false, no_time = false, no_baseline = false, run_file = false, sanitize = false;
  std::optional<uint64_t> seed;
  double width = -1;  // not given
  BatchFlags batch;
  MachineFlags machine;
};

// Prints the speedups over torch.compile's other modes, and how many rounds were throttled.
void print_other_modes_and_throttling(const Verdict& verdict) {
  if (verdict.stages.empty()) return;
  const Json& times = verdict.stages.back().evidence;
  for (const char* mode : {kMaxAutotune, kReduceOverhead}) {
    const std::string name = std::string("torch.compile ") + mode;
    if (!times.contains(name)) continue;
    const Json& speedup = times[name]["speedup"];
    std::printf("  %s of the speed of %s\n",
                speedup_text({speedup["estimate"], speedup["lower"], speedup["upper"]}).c_str(),
                name.c_str());
  }
  if (times.value("throttled_rounds", 0) > 0) {
    std::printf("  left out: %d rounds in which the device was slowed down\n",
                times["throttled_rounds"].get<int>());
  }
}

void print_file(const Verdict& verdict) {
  const char* does = verdict.file == FileDoes::kSame    ? "does the same"
                     : verdict.file == FileDoes::kOther ? "does something else: "
                                                        : "was not tried: ";
  std::printf("  in plain Python the file %s%s\n", does, verdict.file_reason.c_str());
}

// What compute-sanitizer said of an accepted candidate.
void print_sanitizer(const Json& report) {
  if (report.contains("fault")) {
    std::printf("  compute-sanitizer did not run to its end: %s\n",
                report["fault"].get<std::string>().c_str());
  } else {
    std::printf("  compute-sanitizer found no access out of bounds (%.1f s)\n",
                report["seconds"].get<double>());
  }
  if (const std::string noted = findings_text(report["noted"]); !noted.empty()) {
    std::printf("  warning: it reads what nobody has written, to no effect in any trial (%s)\n",
                noted.c_str());
  }
}

void print_verdict(const Verdict& verdict, bool run_file) {
  std::printf("%s", std::string(outcome_name(verdict.outcome)).c_str());
  if (verdict.rejected_at) {
    std::printf(" at %s", std::string(stage_name(*verdict.rejected_at)).c_str());
  }
  std::printf("%s%s\n", verdict.reason.empty() ? "" : ": ", verdict.reason.c_str());
  const char* ended = verdict.outcome == Verdict::Outcome::kNotJudged ? "not judged" : "FAILED";
  for (const StageResult& stage : verdict.stages) {
    std::printf("  %-9s %-6s %6.2f s\n", std::string(stage_name(stage.stage)).c_str(),
                stage.passed ? "passed" : ended, stage.seconds);
  }
  for (const ConfigurationResult& result : verdict.configurations) {
    if (!result.chosen && result.device_ms == 0 && result.reason.empty()) continue;
    std::printf("  %s in %s:", result.kernel.c_str(), result.configuration.c_str());
    if (result.device_ms > 0) std::printf(" %.4f ms", result.device_ms);
    if (!result.reason.empty()) std::printf(" %s", result.reason.c_str());
    std::printf("%s\n", result.chosen ? " (chosen)" : "");
  }
  if (verdict.outcome != Verdict::Outcome::kAccepted) return;
  std::printf("  Triton share %.2f\n", verdict.share);
  if (verdict.calls) std::printf("  %s\n", call_times_text(*verdict.calls).c_str());
  if (verdict.speedup_eager) {
    std::printf("  device time: %s of eager's speed\n",
                speedup_text(*verdict.speedup_eager).c_str());
  }
  if (verdict.speedup_compile) {
    std::printf("  device time: %s of torch.compile's speed\n",
                speedup_text(*verdict.speedup_compile).c_str());
  }
  print_other_modes_and_throttling(verdict);
  if (const Json* report = sanitizer_evidence(verdict)) print_sanitizer(*report);
  if (run_file) print_file(verdict);
  if (verdict.environment.value("backend", "") == "cpu") {
    std::printf("  judged without a GPU: nothing is timed\n");
  }
  if (verdict.degenerate) {
    std::printf(
        "  warning: the task proves little: zeros, or the answer to other inputs, would pass "
        "too\n");
  }
}

// One of several verdicts is one line of JSON, and names its candidate. `written` is the accepted
// program, if it was to be written.
void print(const Verdict& verdict, const std::string& file, bool several, const fs::path& written,
           const VerifyFlags& flags) {
  if (flags.json) {
    Json out = to_json(verdict);
    if (several) out["candidate"] = file;
    std::cout << out.dump(several ? -1 : 1) << "\n";
  } else {
    if (several) std::printf("%s: ", file.c_str());
    print_verdict(verdict, flags.run_file);
    if (!written.empty()) {
      std::printf("  written to %s: its ModelNew takes the model's place, with the same weights\n",
                  written.c_str());
    }
  }
  flush_stdout();  // the next verdict may take minutes
}

VerifyOptions options_of(const VerifyFlags& flags) {
  VerifyOptions options;
  options.trials = flags.trials;
  options.trial_deadline = std::chrono::seconds(flags.trial_timeout);
  options.record_deadline = std::chrono::seconds(flags.record_timeout);
  options.tolerance =
      flags.tolerance == "kernelbench" ? Tolerance::kKernelBench : Tolerance::kCalibrated;
  options.pure = flags.coverage == "pure";
  options.seed = seed_or_secret(flags.seed);
  options.width = flags.width;
  options.time = flags.machine.chosen_backend() == "cuda" && !flags.no_time;
  options.run_file = flags.run_file;
  options.file_deadline = std::chrono::seconds(flags.file_timeout);
  return options;
}

// What decides the verdicts of a batch, beside its file.
std::string settings_of(const VerifyFlags& flags) {
  Json out = {{"backend", flags.machine.chosen_backend()},
              {"device", flags.machine.device},
              {"tolerance", flags.tolerance},
              {"coverage", flags.coverage},
              {"trials", flags.trials},
              {"interval_width", flags.width},
              {"time", !flags.no_time},
              {"seed", flags.seed ? Json(*flags.seed) : Json()}};
  if (flags.run_file) out["run_file"] = true;
  if (flags.sanitize) out["sanitize"] = true;
  return out.dump();
}

// Builds what --baseline names; of what cannot be built, `baselines` says so.
void add_baselines(const VerifyFlags& flags, Baselines& baselines, const BaselineRequest& request,
                   const std::filesystem::path& folder, VerifyOptions& options) {
  const auto wanted = [&](const char* mode) {
    return std::find(flags.baselines.begin(), flags.baselines.end(), mode) != flags.baselines.end();
  };
  std::vector<BaselineRequest> requests = {request};
  if (wanted(kMaxAutotune)) {
    requests.push_back(request);
    requests.back().max_autotune = true;
  }
  const std::vector<std::string> built = baselines.build(requests, folder);
  const auto add = [&](const char* mode, const std::string& path, bool graph) {
    if (!path.empty()) {
      options.further_baselines.push_back({std::string("torch.compile ") + mode, {path, graph}});
    }
  };
  if (wanted(kDefault)) options.compiled_package = built[0];
  if (wanted(kMaxAutotune)) add(kMaxAutotune, built[1], false);
  if (wanted(kReduceOverhead)) add(kReduceOverhead, built[0], true);
}

// Where the Program of a candidate is written: each of several has a folder by its file's name.
fs::path out_folder(const VerifyFlags& flags, const std::string& candidate) {
  const fs::path out = flags.out;
  return flags.candidates.size() == 1 ? out : out / fs::path(candidate).stem();
}

void prepare_out_folders(const VerifyFlags& flags) {
  std::set<fs::path> folders;
  for (const std::string& file : flags.candidates) {
    const fs::path folder = out_folder(flags, file);
    if (!folders.insert(folder).second) {
      throw InputError(file +
                       ": another candidate has the same name, and both would be written to " +
                       folder.string() + "; judge them apart");
    }
    prepare_result_folder(folder, flags.model);
  }
}

int run_verify(const VerifyFlags& flags) {
  VerifyOptions options = options_of(flags);
  if (!flags.batch.file.empty()) {
    if (!flags.model.empty()) {
      throw InputError("--batch takes its models and candidates from its file; " + flags.model +
                       " is one too many");
    }
    if (!flags.machine.set.empty()) {
      throw InputError("--set is for one model; a batch takes its models from its file");
    }
    options.record_again = flags.record_again;
    BatchFlags batch = flags.batch;
    batch.out = flags.out;
    batch.sanitize = flags.sanitize;
    return run_batch(batch, flags.machine, options, settings_of(flags));
  }
  if (!flags.out.empty()) prepare_out_folders(flags);
  options.width = std::max(0.0, options.width);
  if (flags.candidates.empty()) {
    throw InputError("expected MODEL.py and CANDIDATE.py, or --batch FILE.jsonl (see --help)");
  }
  std::vector<std::string> files = flags.candidates;
  files.push_back(flags.model);
  const SessionConfig config = flags.machine.session_config(files);
  const auto sanitizer = sanitizer_for(flags.sanitize, config.executor);
  options.sanitizer = sanitizer.get();
  Session machine(config);
  Verifier verifier(machine.pool, machine.executor, machine.profile);
  const RecordRequest reference_request = verifier.without_candidate(
      request_for_file(flags.model, flags.cls, flags.machine.set, machine.profile),
      flags.candidate_cls, options);
  std::vector<RecordRequest> requests;
  for (const std::string& file : flags.candidates) {
    // A candidate is called with the reference's inputs, and needs to define ModelNew only.
    requests.push_back(request_for_file(file, flags.candidate_cls, {}, machine.profile));
    requests.back().harness_text = reference_request.text;
    requests.back().harness_file = reference_request.file;
  }
  machine.executor.hello();
  std::optional<Baselines> baselines;  // imports torch while the reference is recorded
  if (options.time) baselines.emplace("cuda", 1);
  const Reference reference = verifier.prepare(reference_request, options);
  ScratchFolder scratch;
  if (baselines && !flags.no_baseline) {
    add_baselines(flags, *baselines, {reference_request, reference.task.state, {}}, scratch.path(),
                  options);
  }
  bool rejected = false, not_judged = false;
  for (const RecordRequest& request : requests) {
    Task program;
    fs::path written;
    Verdict verdict = verifier.verify(reference, request, options, &program);
    const bool accepted = verdict.outcome == Verdict::Outcome::kAccepted;
    if (accepted && (!flags.out.empty() || options.time)) {
      const auto python = verifier.exported(reference, reference_request, program, options);
      if (python.fault && !flags.out.empty()) {
        end_unbuilt(verdict, *python.fault);
      } else if (python.fault) {
        verdict.calls.emplace().fault = python.fault->text();
      } else {
        if (options.time) {
          verdict.calls = baselines->time_calls(reference_request, *python.value,
                                                !flags.no_baseline, scratch.path());
        }
        if (!flags.out.empty()) {
          const fs::path folder = out_folder(flags, request.file);
          write_program({*python.value, program, verdict}, "", folder);
          written = folder / "optimized.py";
        }
      }
    }
    print(verdict, request.file, requests.size() > 1, written, flags);
    rejected |= verdict.outcome == Verdict::Outcome::kRejected;
    not_judged |= verdict.outcome == Verdict::Outcome::kNotJudged;
  }
  return rejected ? 1 : not_judged ? 4 : 0;
}

}  // namespace

Command add_verify(CLI::App& app) {
  auto flags = std::make_shared<VerifyFlags>();
  app.add_option("model", flags->model, "file with Model, get_inputs() and get_init_inputs()");
  app.add_option("candidate", flags->candidates, "files with ModelNew; may be the same file");
  app.add_option("--batch", flags->batch.file,
                 "judge the candidates of a file, a line of JSON each (docs/formats/batch.md)");
  app.add_option("--out", flags->out,
                 "folder for what was accepted: optimized.py, bundle/, verdict.json (of several "
                 "candidates, a folder each). Of a batch: file of results, appended as they come "
                 "(default: FILE.jsonl.results.jsonl); a run that was ended goes on where it was");
  app.add_option(
         "--jobs", flags->batch.jobs,
         "candidates of a batch that are recorded and compiled at once (default: one a core)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--class", flags->cls, "the reference's class")->capture_default_str();
  app.add_option("--candidate-class", flags->candidate_cls, "the candidate's class")
      ->capture_default_str();
  add_trials_flag(app, flags->trials);
  app.add_option("--trial-timeout", flags->trial_timeout,
                 "seconds a trial may take before the candidate counts as hung")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--record-timeout", flags->record_timeout,
                 "seconds that recording a file may take before it counts as hung")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option(
         "--tolerance", flags->tolerance,
         "calibrated: against the reference's own error in fp64; kernelbench: allclose 1e-2")
      ->check(CLI::IsMember({"calibrated", "kernelbench"}))
      ->capture_default_str();
  add_coverage_flag(app, flags->coverage);
  add_judging_seed_flag(app, flags->seed);
  app.add_option("--interval-width", flags->width,
                 "stop timing once the speedup's 95 % interval is so wide, relative to it (in a "
                 "batch also after 30 rounds or 30 ms); 0: 50 rounds always (default: 0.03 in a "
                 "batch, else 0)")
      ->check(real_number(0, 1));
  app.add_flag("--run-file", flags->run_file,
               "also run the file of an accepted candidate in plain Python on the CPU, and say "
               "whether it does what the judged program does (same, other, not tried)");
  app.add_option("--file-timeout", flags->file_timeout,
                 "seconds that such a run may take before the file counts as not tried")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  app.add_option("--record-again", flags->record_again,
                 "share of a batch's accepted candidates whose exported program is recorded again, "
                 "which has to give what was judged")
      ->check(real_number(0, 1))
      ->capture_default_str();
  add_sanitize_flag(app, flags->sanitize);
  app.add_flag("--no-time", flags->no_time, "judge only");
  auto* baseline =
      app.add_option("--baseline", flags->baselines,
                     "torch.compile's modes to compare with, beside eager: default, max-autotune, "
                     "reduce-overhead (default's code in a CUDA graph)")
          ->delimiter(',')
          ->check(CLI::IsMember({kDefault, kMaxAutotune, kReduceOverhead}))
          ->capture_default_str();
  app.add_flag("--no-baseline", flags->no_baseline, "do not compare with torch.compile")
      ->excludes(baseline);
  app.add_flag("--json", flags->json, "print the verdict as JSON; of several, a line each");
  flags->machine.limit_flags = {
      {"record", "--record-timeout"}, {"trial", "--trial-timeout"}, {"run", "--file-timeout"}};
  flags->machine.add_to(app);
  flags->machine.add_executors_to(app);
  app.footer(
      "Exit codes: 0 accepted, 1 rejected, 2 a mistake in the model file or flags, 3 the\n"
      "machine's fault, 4 not judged.\n"
      "Of several candidates, 1 when any is rejected, else 4 when any is not judged.\n"
      "Of a batch, whose rejections are results: 0, or 2 when a reference is at fault, or 4 when "
      "a\n"
      "candidate is not judged. Batches are not compared with torch.compile.");
  return [flags] { return run_verify(*flags); };
}

}  // namespace kw
