// kernelwright optimize MODEL.py
#include <csignal>
#include <cstdio>
#include <iostream>
#include <optional>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "cli/support/policy_flags.h"
#include "cli/support/progress.h"
#include "formats/base/error.h"
#include "formats/base/scratch_folder.h"
#include "report/html.h"
#include "search/optimize.h"
#include "search/result_folder.h"
#include "search/stored_package.h"
#include "search/stored_schedules.h"
#include "verify/baselines.h"
#include "worker/model_file.h"

namespace kw {
namespace {

std::atomic<bool> g_stop = false;

// The first Ctrl-C ends the search and keeps the best so far; the second ends the program.
void on_interrupt(int) {
  g_stop = true;
  std::signal(SIGINT, SIG_DFL);
}

struct OptimizeFlags {
  std::string model, cls = "Model", coverage = "hybrid", out, store, schedules;
  std::string budget = "60s";
  int proposals = 2;
  std::string form;
  bool json = false, no_baseline = false;
  std::optional<uint64_t> seed;
  PolicyFlags policy;
  MachineFlags machine;
};

std::string default_folder(const std::string& model) {
  return "kernelwright-out/" + std::filesystem::path(model).stem().string();
}

void print_summary(const OptimizeResult& result, const std::filesystem::path& folder) {
  switch (result.outcome) {
    case OptimizeResult::Outcome::kImproved: {
      std::printf("verified: %s\n", result.message.c_str());
      if (result.verdict.calls) {
        std::printf("  %s\n", call_times_text(*result.verdict.calls).c_str());
      }
      std::printf("  Triton share %.2f\n", result.verdict.share);
      if (result.verdict.speedup_eager) {
        std::printf("  device time: %s faster than eager\n",
                    speedup_text(*result.verdict.speedup_eager).c_str());
      } else {
        const double ours = cover_seconds(result);
        std::printf("  modelled, not measured: %.2fx of eager\n",
                    ours > 0 ? result.reference_seconds / ours : 0.0);
      }
      if (result.verdict.speedup_compile) {
        std::printf("  device time: %s faster than torch.compile\n",
                    speedup_text(*result.verdict.speedup_compile).c_str());
      }
      break;
    }
    default:
      std::printf("%s\n", result.message.c_str());
  }
  if (result.verdict.degenerate) {
    std::printf(
        "  warning: the task proves little: zeros, or the answer to other inputs, would pass "
        "too\n");
  }
  std::printf("  %s\n", (folder / "optimized.py").c_str());
  std::printf("  %s\n", (folder / "report.html").c_str());
}

// Returns what each step of the searched program takes in PyTorch.
Json steps_json(const OptimizeResult& result) {
  Json out = Json::array();
  for (size_t i = 0; i < result.step_seconds.size(); ++i) {
    const auto* call = std::get_if<AtenCall>(&result.base.forward.steps[i]);
    out.push_back({{"operator", call ? call->op : "launch"},
                   {"seconds", result.step_seconds[i]},
                   {"measured", static_cast<bool>(result.step_measured[i])}});
  }
  return out;
}

// Returns the forms that the program was searched in.
Json forms_json(const OptimizeResult& result) {
  Json out = Json::array();
  for (const FormTime& form : result.forms) {
    out.push_back({{"name", form.name},
                   {"eager_seconds", form.eager_seconds},
                   {"found_seconds", form.found_seconds},
                   {"fragments", form.offered},
                   {"tried", form.tried}});
  }
  return out;
}

// Returns what was tried as a whole program, and what came of it.
Json finalists_json(const OptimizeResult& result) {
  Json out = Json::array();
  for (const Finalist& finalist : result.finalists) {
    out.push_back({{"form", finalist.form},
                   {"fragments", finalist.fragments},
                   {"seconds", finalist.seconds},
                   {"reason", finalist.reason}});
  }
  return out;
}

int run_optimize(const OptimizeFlags& flags) {
  OptimizeOptions options;
  options.budget_seconds = parse_seconds("--budget", flags.budget);
  options.proposals = flags.proposals;
  options.form = flags.form;
  options.verify.seed = seed_or_secret(flags.seed);
  options.verify.pure = flags.coverage == "pure";
  const std::filesystem::path folder = flags.out.empty() ? default_folder(flags.model) : flags.out;
  Machine machine(flags.machine, {flags.model});
  const RecordRequest request =
      request_for_file(flags.model, flags.cls, flags.machine.set, machine.profile);
  prepare_result_folder(folder, flags.model);
  const std::string backend = flags.machine.chosen_backend();
  const auto schedules = schedule_table(flags.schedules, machine.profile, backend);
  options.measure = backend == "cuda";
  ScratchFolder scratch;
  std::optional<Baselines> baselines;  // they start now, and are ready when the search ends
  if (options.measure) baselines.emplace("cuda", 1);
  // Starts the executor here, so that a missing GPU is reported before any work.
  const Json versions = {{"profile", machine.profile.name},
                         {"executor", machine.executor.hello()},
                         {"worker", machine.pool.versions()}};
  Store store(flags.store.empty() ? default_store_path() : std::filesystem::path(flags.store));
  if (baselines) {
    options.time_calls = [&](const std::string& python) {
      return baselines->time_calls(request, python, !flags.no_baseline, scratch.path());
    };
  }
  if (baselines && !flags.no_baseline) {
    options.compile_baseline = [&](const Reference& reference) {
      return stored_package(store, *baselines, request, reference.task, versions, scratch.path());
    };
  }
  StoredSchedules memory(store, versions);
  flags.policy.refuse_unused();
  const std::unique_ptr<Policy> policy =
      flags.policy.make({.schedules = schedules, .memory = &memory}, backend);
  policy->prepare();
  OptimizeResult result;
  {
    ProgressLine line;
    Optimizer optimizer(machine.pool, machine.executor, *policy, store, machine.profile,
                        [&](const Progress& p) { line.show(p); });
    std::signal(SIGINT, on_interrupt);
    result = optimizer.optimize(request, options, g_stop);
  }
  if (!store.fault().empty()) {
    std::fprintf(stderr, "warning: %s; results of fragments are not kept\n", store.fault().c_str());
  }
  write_result(result, report_html(result), folder);
  if (const std::string costs = costs_text(*policy); !costs.empty()) {
    std::fprintf(stderr, "%s\n", costs.c_str());
  }
  if (flags.json) {
    Json out = {{"outcome",
                 result.outcome == OptimizeResult::Outcome::kImproved ? "improved" : "unchanged"},
                {"message", result.message},
                {"measured", result.measured},
                {"folder", folder.string()},
                {"steps", steps_json(result)},
                {"forms", forms_json(result)},
                {"finalists", finalists_json(result)},
                {"search_seconds", result.search_seconds},
                {"phase_seconds", result.phase_seconds},
                {"total_seconds", result.total_seconds},
                {"policy_costs", policy->costs()},
                {"verdict", to_json(result.verdict)}};
    std::cout << out.dump(1) << "\n";
  } else {
    print_summary(result, folder);
  }
  return result.verdict.outcome == Verdict::Outcome::kNotJudged && !result.verdict.stages.empty()
             ? 4
             : 0;
}

}  // namespace

Command add_optimize(CLI::App& app) {
  auto flags = std::make_shared<OptimizeFlags>();
  app.add_option("model", flags->model, "file with Model, get_inputs() and get_init_inputs()")
      ->required();
  app.add_option("--class", flags->cls, "the class to optimize")->capture_default_str();
  app.add_option("--out", flags->out, "result folder (default: kernelwright-out/<name>)");
  flags->policy.add_to(app);
  app.add_option("--budget", flags->budget, "time for the search: 60s, 5m, 1h")
      ->capture_default_str();
  app.add_option("--proposals", flags->proposals, "schedules measured for each fragment, at first")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
      "--form", flags->form,
      "search this form of the program alone, whatever it promises; --json lists forms by "
      "name: \"as recorded\", \"channels last\"");
  app.add_option("--store", flags->store,
                 "where results are kept between runs (default: "
                 "$KERNELWRIGHT_STORE, else ~/.cache/kernelwright/store.sqlite)");
  add_coverage_flag(
      app, flags->coverage,
      "hybrid: PyTorch keeps what it is faster at; pure: none is left that computes, be it slower");
  add_schedules_flag(app, flags->schedules);
  add_judging_seed_flag(app, flags->seed);
  app.add_flag("--no-baseline", flags->no_baseline, "do not compare with torch.compile");
  app.add_flag("--json", flags->json, "print one JSON object");
  flags->machine.add_to(app);
  app.footer(
      "Ctrl-C ends the search and keeps the best so far. Results of finished fragments are kept:\n"
      "a second run goes on where the first one stopped.");
  return [flags] { return run_optimize(*flags); };
}

}  // namespace kw
