// kernelwright eval MODEL.py|FOLDER...
#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <ranges>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/policy_flags.h"
#include "formats/error.h"
#include "report/eval_summary.h"
#include "search/suite.h"
#include "search/suite_search.h"
#include "synth/task_row.h"
#include "verify/baselines.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::vector<std::string> models;
  std::string cls = "Model", coverage = "hybrid", out, schedules, search;
  int samples = 1, trials = 0, batch = 64;
  bool json = false, no_time = false, side_by_side = false, until_accepted = false,
       baseline = false, twins = false;
  double explore = 0, width = 0, build_timeout = 120, trial_timeout = 300;
  uint64_t seed = 0;
  PolicyFlags policy;
  MachineFlags machine;
};

// The files named, and the *.py files of the folders named.
std::vector<std::string> model_files(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (!fs::is_directory(name)) {
      out.push_back(name);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::directory_iterator(name)) {
      if (entry.path().extension() == ".py") inside.push_back(entry.path().string());
    }
    if (inside.empty()) throw InputError(name + ": has no *.py file");
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

// The models of a file of tasks, or their twins.
std::vector<RecordRequest> requests_of_tasks(const std::string& path, const Flags& flags,
                                             const DeviceProfile& profile) {
  std::vector<RecordRequest> requests;
  for (const StoredTask& task : read_tasks(read_text(path), path)) {
    if (flags.twins && task.twin.empty()) throw InputError(path + ": " + task.id + " has no twin");
    RecordRequest& request = requests.emplace_back();
    request.file = task.id + ".py";
    request.text = flags.twins ? task.twin : task.model;
    request.cls = flags.cls;
    request.profile = profile;
  }
  return requests;
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw EnvironmentError("cannot write " + path.string());
}

// What the policy wrote, and beside what was accepted of it the model with it in place.
void write_sources(const SuiteResult& result, const fs::path& folder) {
  const std::string stem = fs::path(result.model).stem().string() + ".";
  for (size_t k = 0; k < result.samples.size(); ++k) {
    const SuiteSample& sample = result.samples[k];
    const std::string name = stem + std::to_string(k);
    if (!sample.source.empty()) write_file(folder / (name + ".fragment.py"), sample.source);
    if (!sample.python.empty()) write_file(folder / (name + ".py"), sample.python);
  }
}

void print(const SuiteResult& result) {
  std::string detail = result.fault.empty() ? result.refusal : result.fault;
  const Verdict* shown = nullptr;
  for (const SuiteSample& sample : result.samples) {
    const bool accepted = sample.verdict.outcome == Verdict::Outcome::kAccepted;
    if (!shown || (accepted && shown->outcome != Verdict::Outcome::kAccepted)) {
      shown = &sample.verdict;
      detail = accepted ? sample.family : sample.verdict.reason;
    }
  }
  if (shown && shown->speedup_eager) detail += ", " + speedup_text(*shown->speedup_eager);
  std::printf("%-10s  %s  %s\n", result.outcome().c_str(), result.model.c_str(), detail.c_str());
  std::fflush(stdout);
}

std::vector<RecordRequest> requests_of(const Flags& flags, const std::vector<std::string>& files,
                                       const DeviceProfile& profile) {
  std::vector<RecordRequest> requests;
  for (const std::string& file : files) {
    if (fs::path(file).extension() == ".jsonl") {
      std::ranges::move(requests_of_tasks(file, flags, profile), std::back_inserter(requests));
    } else {
      requests.push_back(request_for_file(file, flags.cls, flags.machine, profile));
    }
  }
  return requests;
}

SuiteOptions suite_options(const Flags& flags) {
  SuiteOptions options;
  options.samples = flags.samples;
  options.seed = flags.seed;
  options.verify.trials = flags.trials;
  options.verify.pure = flags.coverage == "pure";
  options.verify.seed = flags.seed ? flags.seed : secret_seed();
  options.verify.time = flags.machine.chosen_backend() == "cuda" && !flags.no_time;
  options.verify.width = flags.width;
  if (flags.width > 0) time_for_rewards(options.verify);
  options.verify.compile_deadline = deadline_of(flags.build_timeout);
  options.verify.record_deadline =
      std::min(options.verify.record_deadline, options.verify.compile_deadline);
  options.verify.trial_deadline = deadline_of(flags.trial_timeout);
  options.side_by_side = flags.side_by_side;
  options.until_accepted = flags.until_accepted;
  options.batch = flags.batch;
  options.progress = [](const std::string& text) {
    std::fprintf(stderr, "eval: %s\n", text.c_str());
  };
  return options;
}

OptimizeOptions optimize_options(const Flags& flags, const SuiteOptions& suite) {
  OptimizeOptions options;
  options.measure = suite.verify.time;
  options.budget_seconds = parse_seconds("--search", flags.search);
  options.proposals = std::max(options.proposals, flags.samples);
  options.verify = suite.verify;
  return options;
}

// What executors did: seconds by kind of request, in the mean over processes.
Json executor_counts(const ExecutorClient& executor) {
  return {{"processes", executor.processes()},
          {"restarts", executor.restarts()},
          {"busy_seconds", executor.busy_seconds()}};
}

// The last of what is printed: all models together.
void print_summary(const std::vector<TaskAnswers>& tasks, const SuiteOptions& options,
                   const Policy& policy, const ExecutorClient& executor, bool json) {
  const Metrics metrics = measure_suite(tasks, options);
  if (json) {
    Json last = {{"summary", to_json(metrics)}, {"executors", executor_counts(executor)}};
    if (Json costs = policy.costs(); !costs.is_null()) {
      last.update({{"policy", policy.name()}, {"costs", std::move(costs)}});
    }
    std::cout << last.dump() << std::endl;
  } else {
    std::cout << summary_text(metrics, options) << std::flush;
  }
}

int run(const Flags& flags) {
  const std::vector<std::string> files = model_files(flags.models);
  Machine machine(flags.machine, files);
  const std::vector<RecordRequest> requests = requests_of(flags, files, machine.profile);
  SuiteOptions options = suite_options(flags);
  // Names of packages start anew with each batch.
  std::deque<ScratchFolder> scratch;
  std::optional<Baselines> baselines;
  if (flags.baseline && options.verify.time) {
    baselines.emplace("cuda", std::max(1, threads_of(0) * 2 / 3));
    options.compile_baselines = [&](const std::vector<BaselineRequest>& models) {
      return baselines->build(models, scratch.emplace_back().path());
    };
  }
  if (!flags.out.empty()) fs::create_directories(flags.out);
  machine.executor.hello();
  const std::unique_ptr<Policy> policy =
      flags.policy.make({.schedules = schedule_table(flags.schedules, machine.profile,
                                                     flags.machine.chosen_backend()),
                         .explore = flags.explore,
                         .whole = flags.search.empty()});
  std::map<std::string, int> outcomes;
  std::vector<TaskAnswers> tasks;
  const auto done = [&](const SuiteResult& result) {
    ++outcomes[result.outcome()];
    if (auto answers = answers_of(result)) tasks.push_back(std::move(*answers));
    if (flags.json) {
      std::cout << to_json(result).dump() << std::endl;
    } else {
      print(result);
    }
    if (!flags.out.empty()) write_sources(result, flags.out);
  };
  WorkerConfig workers = worker_config(flags.machine, files);
  if (flags.search.empty()) {
    const size_t most = requests.size() * static_cast<size_t>(flags.samples);
    JudgingCrew crew(workers, static_cast<int>(std::min<size_t>(most, workers.parallel)));
    Suite(crew, machine.executor, *policy, machine.profile).run(requests, options, done);
  } else {
    // Half of the cores' number of searches, each with two workers: what one waits for its turn on
    // the device, others build.
    const int searches = std::max(1, workers.parallel / 2);
    workers.parallel = 2;
    JudgingCrew crew(workers, static_cast<int>(std::min<size_t>(requests.size(), searches)));
    ScratchFolder known;
    search_suite(requests, crew, machine.executor, *policy, machine.profile,
                 optimize_options(flags, options), known.path() / "store.sqlite", done);
  }
  print_summary(tasks, options, *policy, machine.executor, flags.json);
  std::string summary =
      std::to_string(requests.size()) + (requests.size() == 1 ? " model" : " models");
  for (const auto& [outcome, count] : outcomes) {
    summary += ", " + std::to_string(count) + " " + outcome;
  }
  std::fprintf(stderr, "%s\n", summary.c_str());
  if (const std::string costs = costs_text(*policy); !costs.empty()) {
    std::fprintf(stderr, "%s\n", costs.c_str());
  }
  return 0;
}

}  // namespace

Command add_eval(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("model", flags->models,
                 "files with Model, get_inputs() and get_init_inputs(), folders of them, or files "
                 "of tasks (*.jsonl) as kernelwright synth writes them")
      ->required();
  app.add_option("--class", flags->cls, "the class to write kernels for")->capture_default_str();
  app.add_flag("--twins", flags->twins, "of tasks, the models in small sizes");
  flags->policy.add_to(app);
  app.add_option("--samples", flags->samples, "proposals judged for each model")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_trials_flag(app, flags->trials);
  app.add_option("--coverage", flags->coverage,
                 "hybrid: some PyTorch may be left; pure: none that computes")
      ->check(CLI::IsMember({"hybrid", "pure"}))
      ->capture_default_str();
  add_schedules_flag(app, flags->schedules);
  app.add_option("--explore", flags->explore,
                 "share of the samples drawn at random from beyond the policy's best guesses")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  CLI::Option* side_by_side = app.add_flag(
      "--side-by-side", flags->side_by_side,
      "compare samples: try each once, time all in one run, judge the fastest in full");
  app.add_flag("--until-accepted", flags->until_accepted,
               "judge samples in order until one is accepted, and leave out the rest")
      ->excludes(side_by_side);
  CLI::Option* baseline =
      app.add_flag("--baseline", flags->baseline, "compare with torch.compile too");
  app.add_option("--search", flags->search,
                 "optimize each model instead, several side by side, with so much time for each "
                 "search (5s, 1m); --samples: of each fragment, at first")
      ->excludes(side_by_side)
      ->excludes("--until-accepted")
      ->excludes(baseline);
  app.add_option("--batch", flags->batch, "models that are built together, before they are judged")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
      "--out", flags->out,
      "folder for what the policy wrote: <model>.<sample>.fragment.py (--policy replay reads it); "
      "where it was accepted, <model>.<sample>.py stands for the model (verify it, import it)");
  app.add_option("--seed", flags->seed, "seed of policy, inputs and parameters (default: secret)");
  app.add_option(
         "--build-timeout", flags->build_timeout,
         "seconds that compiling a sample may take before it counts as hung; recording one: "
         "as many, 60 at most")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--trial-timeout", flags->trial_timeout,
                 "seconds that a trial of a sample may take before it counts as hung")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--interval-width", flags->width,
                 "stop timing a sample once the speedup's 95 % interval is so wide, relative to "
                 "it, or after 30 rounds or 30 ms, as batches do with 0.03; 0: 50 rounds")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--no-time", flags->no_time, "judge only");
  app.add_flag("--json", flags->json,
               "print one line of JSON for each model, and one for all of them");
  flags->machine.add_to(app);
  flags->machine.add_executors_to(app);
  app.footer(
      "Without --search each model is written whole: what the policy can do by itself. The exit\n"
      "code is 0 whatever the outcomes, which docs/formats/eval.md explains.");
  return [flags] { return run(*flags); };
}

}  // namespace kw
