// kernelwright eval MODEL.py|FOLDER|TASKS.jsonl...
#include <algorithm>
#include <cstdio>
#include <deque>
#include <iostream>
#include <optional>
#include <ranges>
#include <regex>
#include <set>

#include "cli/commands.h"
#include "cli/eval_output.h"
#include "cli/support/common.h"
#include "cli/support/last_words.h"
#include "cli/support/policy_flags.h"
#include "eval/run/eval_lines.h"
#include "eval/run/eval_run.h"
#include "eval/run/eval_session.h"
#include "eval/suite/suite.h"
#include "eval/suite/suite_models.h"
#include "formats/base/error.h"
#include "formats/base/exit_code.h"
#include "formats/base/scratch_folder.h"
#include "formats/base/sha256.h"
#include "formats/output.h"
#include "verify/baselines.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSamples = 1000;  // for one model

struct EvalFlags {
  std::vector<std::string> suites, beside, merge;
  std::string cls = "Model", coverage = "hybrid", out, schedules, search, lines, shard = "1/1";
  int samples = 1, trials = 0, batch = 64;
  bool json = false, no_time = false, side_by_side = false, until_accepted = false,
       baseline = false, twins = false, run_file = false;
  double explore = 0, width = 0, build_timeout = 120, trial_timeout = 300, file_timeout = 60;
  std::optional<uint64_t> seed;
  PolicyFlags policy;
  MachineFlags machine;
  Json given;  // flags, as they were given
};

// The value of one --beside: WHAT, or WHAT@N.
struct Beside {
  std::string what;
  int samples;
};

Beside beside_of(const std::string& text, const EvalFlags& flags) {
  const size_t at = text.rfind('@');
  const std::string number = at == std::string::npos ? "" : text.substr(at + 1);
  const bool has_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!has_number || fs::exists(text)) {  // a folder may have such a name
    return {text, flags.samples};
  }
  const int samples = number.size() > 4 ? 0 : std::stoi(number);
  if (at == 0) throw InputError("--beside " + text + ": expected a policy before the @");
  if (samples < 1 || samples > kMostSamples) {
    throw InputError("--beside " + text + ": samples are from 1 to " +
                     std::to_string(kMostSamples));
  }
  return {text.substr(0, at), samples};
}

SuiteOptions suite_options(const EvalFlags& flags) {
  SuiteOptions options;
  options.samples = {flags.samples};
  for (const std::string& what : flags.beside) {
    options.samples.push_back(beside_of(what, flags).samples);
  }
  options.seed = flags.seed.value_or(0);
  options.verify.trials = flags.trials;
  options.verify.pure = flags.coverage == "pure";
  options.verify.seed = seed_or_secret(flags.seed);
  options.verify.time = flags.machine.chosen_backend() == "cuda" && !flags.no_time;
  options.verify.width = flags.width;
  if (flags.width > 0) time_for_rewards(options.verify);
  options.verify.compile_deadline = deadline_of(flags.build_timeout);
  options.verify.record_deadline =
      std::min(options.verify.record_deadline, options.verify.compile_deadline);
  options.verify.trial_deadline = deadline_of(flags.trial_timeout);
  options.verify.run_file = flags.run_file;
  options.verify.file_deadline = deadline_of(flags.file_timeout);
  options.side_by_side = flags.side_by_side;
  options.until_accepted = flags.until_accepted;
  options.batch = flags.batch;
  options.progress = [](const std::string& text) {
    std::fprintf(stderr, "eval: %s\n", text.c_str());
  };
  return options;
}

OptimizeOptions optimize_options(const EvalFlags& flags, const SuiteOptions& suite) {
  OptimizeOptions options;
  options.measure = suite.verify.time;
  options.budget_seconds = parse_seconds("--search", flags.search);
  options.proposals = std::max(options.proposals, flags.samples);
  options.verify = suite.verify;
  return options;
}

// Returns the policies that are asked, in the order given, with what the suite says of the models'
// functions. Throws InputError for a policy that is given twice, or a flag that no policy uses.
std::vector<PolicyFlags> policies_of(const EvalFlags& flags,
                                     const std::vector<SuiteModel>& models) {
  std::vector<PolicyFlags> asked = {flags.policy};
  for (const std::string& text : flags.beside) {
    asked.push_back(flags.policy.with(beside_of(text, flags).what));
  }
  std::set<std::string> labels;
  for (const PolicyFlags& policy : asked) {
    if (labels.insert(policy.label()).second) continue;
    throw InputError("--beside " + policy.label() + ": is one of the policies already");
  }
  for (const SuiteModel& model : models) {
    if (!model.function) continue;
    const fs::path name = fs::path(model.request.file).replace_extension();
    for (PolicyFlags& each : asked) each.functions[name.generic_string()] = *model.function;
  }
  flags.policy.refuse_unused(asked);
  return asked;
}

std::vector<JudgedPolicy> judged_of(const EvalFlags& flags, const std::vector<PolicyFlags>& asked) {
  std::vector<JudgedPolicy> out(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    out[i].folder = flags.out;
    if (asked.size() > 1) {
      out[i].label = asked[i].label();
      out[i].folder /= std::to_string(i);
    }
  }
  return out;
}

fs::path lines_in_out(const EvalFlags& flags) { return fs::path(flags.out) / kEvalLinesFile; }

// Makes the policies. Each local model is a process, which lives until the end.
void make_policies(const EvalFlags& flags, const std::vector<PolicyFlags>& asked,
                   const DeviceProfile& profile, std::vector<JudgedPolicy>& judged) {
  const TeacherOptions teacher = {
      .schedules = schedule_table(flags.schedules, profile, flags.machine.chosen_backend()),
      .explore = flags.explore,
      .whole = flags.search.empty()};
  const std::string backend = flags.machine.chosen_backend();
  for (size_t i = 0; i < asked.size(); ++i) judged[i].policy = asked[i].make(teacher, backend);
}

// Returns "models" for "./models/": a run of a suite is the same however its path was written.
std::string plain_path(const std::string& path) {
  std::string out = fs::path(path).lexically_normal().string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

// Returns the flags that were given, without those that change no line.
Json flags_given(const CLI::App& app) {
  static const std::set<std::string> silent = {"--lines", "--merge", "--shard",    "--json",
                                               "--out",   "--batch", "--executors"};
  Json out = Json::object();
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || silent.contains(option->get_name())) continue;
    out[option->get_name()] = option->results();
  }
  return out;
}

// Returns what a run's lines depend on: flags, policies, the models' texts, and what runs them.
Json asked_of(const EvalFlags& flags, const std::vector<SuiteModel>& models,
              const std::vector<JudgedPolicy>& judged, const std::vector<PolicyFlags>& asked,
              const DeviceProfile& profile, const Json& versions) {
  Json texts, policies, labels = Json::array();
  for (const SuiteModel& model : models) {
    texts.push_back({model.request.file, model.original});
  }
  for (const JudgedPolicy& each : judged) {  // a folder may hold another model by now
    policies.push_back({each.policy->name(), each.policy->fingerprint()});
  }
  for (const PolicyFlags& each : asked) labels.push_back(each.label());
  Json used = Json::object();
  for (const char* name : {"torch", "triton"}) used[name] = versions.value(name, Json());
  return {{"flags", flags.given},
          {"policies", std::move(policies)},
          {"labels", std::move(labels)},
          {"versions", std::move(used)},
          {"backend", flags.machine.chosen_backend()},
          {"device", profile.name},
          {"models", sha256_hex(texts.dump())}};
}

// Throws InputError if --out is in a folder of the suite, because its files would be models of the
// suite the next time. Also throws it if two models would have files of one name.
void check_out(const EvalFlags& flags, const std::vector<SuiteModel>& models) {
  const fs::path out = fs::weakly_canonical(fs::absolute(flags.out) / "");
  for (const std::string& suite : flags.suites) {
    if (!fs::is_directory(suite)) continue;
    const fs::path inside = out.lexically_relative(fs::weakly_canonical(suite));
    if (inside.empty() || *inside.begin() == "..") continue;
    throw InputError("--out " + flags.out + ": lies in " + suite +
                     ", and what is written there would be models of that suite");
  }
  check_run_folder(out, kEvalLinesFile);
  std::map<std::string, std::string> files;
  for (const SuiteModel& model : models) {
    const auto [known, added] = files.emplace(model.name, model.request.file);
    if (added) continue;
    throw InputError("--out: " + known->second + " and " + model.request.file +
                     " would both be called " + model.name);
  }
}

// Returns the places I-1, I-1+N, ... of --shard I/N among `models` models.
std::vector<size_t> places_of(const std::string& shard, size_t models) {
  static const std::regex wanted("([0-9]{1,4})/([0-9]{1,4})");
  std::smatch found;
  const bool fits = std::regex_match(shard, found, wanted);
  const size_t part = fits ? std::stoul(found.str(1)) : 0;
  const size_t parts = fits ? std::stoul(found.str(2)) : 0;
  if (part < 1 || part > parts) {
    throw InputError("--shard " + shard + ": expected I/N with I from 1 to N, such as 2/4");
  }
  std::vector<size_t> places;
  for (size_t place = part - 1; place < models; place += parts) places.push_back(place);
  return places;
}

// Opens the file of lines of --lines or --out and adds those of --merge. Nothing if no lines are
// kept.
void open_lines(const EvalFlags& flags, Machine& machine, const std::vector<SuiteModel>& models,
                const std::vector<PolicyFlags>& asked, const std::vector<JudgedPolicy>& judged,
                std::optional<EvalLines>& lines) {
  if (flags.lines.empty() && flags.out.empty()) return;
  const Json question =
      asked_of(flags, models, judged, asked, machine.profile, machine.pool.versions());
  if (!flags.out.empty()) {
    make_folder(flags.out);
  }
  std::vector<std::string> labels;
  for (const JudgedPolicy& each : judged) labels.push_back(each.label);
  const bool elsewhere = !flags.lines.empty();
  lines.emplace(elsewhere ? "--lines" : "--out",
                elsewhere ? fs::path(flags.lines) : lines_in_out(flags), question,
                std::move(labels));
  for (const std::string& other : flags.merge) lines->merge(other);
  if (elsewhere && !flags.out.empty()) claim_folder(flags.out, question);
}

// Throws InputError for --twins if only model files are named.
void check_twins(const EvalFlags& flags, const std::vector<SuiteFile>& suite) {
  const auto is_model = [](const SuiteFile& file) {
    return fs::path(file.path).extension() == ".py";
  };
  if (!flags.twins || !std::ranges::all_of(suite, is_model)) return;
  throw InputError("--twins: model files have none; files of tasks do (synth --twin)");
}

// Builds what --baseline compares with, in one folder a batch: each batch names its packages from
// the start again.
class BaselinePackages {
 public:
  std::vector<std::string> build(const std::vector<BaselineRequest>& models) {
    return baselines_.build(models, folders_.emplace_back().path());
  }

 private:
  Baselines baselines_{"cuda", std::max(1, threads_of(0) * 2 / 3)};
  std::deque<ScratchFolder> folders_;
};

void say_where_it_stopped(const EvalSession& session, const std::optional<EvalLines>& lines) {
  if (!lines) {
    std::fprintf(stderr,
                 "\neval: stopped at %zu of %zu models; with --out FOLDER or --lines FILE, the "
                 "same command would go on\n",
                 session.judged(), session.models());
  } else {
    std::fprintf(stderr, "\neval: stopped: %zu of %zu models are in %s; the same command goes on\n",
                 session.judged(), session.models(), lines->file().c_str());
  }
}

void resume_session(EvalSession& session, std::optional<EvalLines>& lines) {
  if (!lines) return;
  if (const size_t known = session.resume(*lines); known > 0) {
    std::fprintf(stderr, "eval: %zu of %zu models were judged before (%s)\n", known,
                 session.models(), lines->file().c_str());
  }
}

int run_eval(const EvalFlags& flags) {
  if (!flags.search.empty()) parse_seconds("--search", flags.search);
  const std::vector<SuiteFile> suite = suite_files(flags.suites);
  std::vector<std::string> files;
  for (const SuiteFile& file : suite) files.push_back(file.path);
  Machine machine(flags.machine, files);
  const std::vector<SuiteModel> models =
      read_suite(suite, {.cls = flags.cls, .twins = flags.twins}, flags.machine.set,
                 machine.profile, machine.pool);
  if (!flags.out.empty()) check_out(flags, models);
  check_twins(flags, suite);
  std::vector<size_t> places = places_of(flags.shard, models.size());
  EvalSessionOptions options = {
      .suite = suite_options(flags), .out = flags.out, .workers = machine.workers};
  if (!flags.search.empty()) options.search = optimize_options(flags, options.suite);
  std::optional<BaselinePackages> packages;
  if (flags.baseline && options.suite.verify.time) {
    packages.emplace();
    options.suite.compile_baselines = [&](const std::vector<BaselineRequest>& requests) {
      return packages->build(requests);
    };
  }
  const std::vector<PolicyFlags> asked = policies_of(flags, models);
  std::vector<JudgedPolicy> judged = judged_of(flags, asked);
  make_policies(flags, asked, machine.profile, judged);
  std::optional<EvalLines> lines;
  open_lines(flags, machine, models, asked, judged, lines);
  EvalSession session(std::move(options), models, std::move(places), std::move(judged),
                      machine.profile, machine.executor, machine.zygote);
  resume_session(session, lines);
  EvalOutput output(flags.json);
  const LastWords words([&] { say_where_it_stopped(session, lines); });
  session.judge(output);
  const std::vector<PolicySummary> summaries = session.summarize();
  for (size_t i = 0; i < summaries.size(); ++i) {
    print_summary(session.policies()[i], summaries[i], machine.executor, flags.json);
  }
  for (const JudgedPolicy& each : session.policies()) print_counts(each, session.models());
  return 0;
}

}  // namespace

Command add_eval(CLI::App& app) {
  auto flags = std::make_shared<EvalFlags>();
  app.add_option(
         "suite", flags->suites,
         "what to write kernels for, in any of these forms. Model files have Model, get_inputs() "
         "and get_init_inputs(), as KernelBench has them; subfolders of a folder are levels. "
         "Files of tasks (*.jsonl) are those of kernelwright synth, or rows of KernelBench or "
         "KernelBook. Other files have an operator and a test of it, as TritonBench-T has them")
      ->required();
  app.add_option("--class", flags->cls, "the class to write kernels for")->capture_default_str();
  app.add_flag("--twins", flags->twins, "of tasks, the models in small sizes");
  flags->policy.add_to(app);
  CLI::Option* beside = app.add_option(
      "--beside", flags->beside,
      "judge another policy too: teacher, inductor, or the folder of a model (local, with the "
      "flags given). Policies share references and equal programs. WHAT@N takes N samples of it "
      "in place of --samples. May be given several times");
  beside->type_name("WHAT[@N]")->allow_extra_args(false);
  app.add_option("--samples", flags->samples, "proposals of each policy judged for each model")
      ->check(CLI::Range(1, kMostSamples))
      ->capture_default_str();
  add_trials_flag(app, flags->trials);
  add_coverage_flag(app, flags->coverage);
  add_schedules_flag(app, flags->schedules);
  app.add_option("--explore", flags->explore,
                 "share of the samples drawn at random from beyond the policy's best guesses")
      ->check(real_number(0, 1))
      ->capture_default_str();
  CLI::Option* side_by_side = app.add_flag(
      "--side-by-side", flags->side_by_side,
      "compare samples: try each once, time all in one run, judge the fastest in full");
  side_by_side->excludes(beside);
  app.add_flag("--until-accepted", flags->until_accepted,
               "judge samples in order until one is accepted, and leave out the rest")
      ->excludes(side_by_side)
      ->excludes(beside);
  CLI::Option* baseline =
      app.add_flag("--baseline", flags->baseline, "compare with torch.compile too");
  app.add_option("--search", flags->search,
                 "optimize each model instead, several side by side, with so much time for each "
                 "search (5s, 1m); --samples: of each fragment, at first")
      ->excludes(side_by_side)
      ->excludes("--until-accepted")
      ->excludes(beside)
      ->excludes(baseline);
  app.add_option("--batch", flags->batch, "models that are built together, before they are judged")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
      "--out", flags->out,
      "folder of the run: the same command goes on with it, and kernelwright report makes a page "
      "of it. It has a line for each model (lines.jsonl) and what the policy wrote "
      "(<model>.<sample>.fragment.py, which --policy replay reads). An accepted sample is also "
      "there as <model>.<sample>.py, which takes the model's place. With --beside each policy has "
      "a folder in it: 0 is --policy, 1 the first --beside");
  app.add_option(
      "--lines", flags->lines,
      "file for the lines of the run, if they are to be elsewhere than in --out, or alone. A line "
      "is what --json prints for a model. The same command goes on from these lines, and its "
      "summary is of all models (of its shard)");
  app.add_option("--merge", flags->merge,
                 "the --lines of another run of the same command, such as a shard. They count as "
                 "judged and are added to this run's. May be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--shard", flags->shard,
                 "judge only each Nth model, from the Ith on (2/4). Runs of all I share the work, "
                 "each with separate --lines. Then the command with --merge of these files, and "
                 "without --shard, prints the summary of all")
      ->type_name("I/N");
  add_judging_seed_flag(app, flags->seed,
                        ", and of what a policy draws at a temperature (default: 0)");
  app.add_option(
         "--build-timeout", flags->build_timeout,
         "seconds that compiling a sample may take before it counts as hung; recording one: "
         "as many, 60 at most")
      ->check(real_number(0.1, 86400))
      ->capture_default_str();
  app.add_option("--trial-timeout", flags->trial_timeout,
                 "seconds that a trial of a sample may take before it counts as hung")
      ->check(real_number(0.1, 86400))
      ->capture_default_str();
  app.add_option("--interval-width", flags->width,
                 "stop timing a sample once the speedup's 95 % interval is so wide, relative to "
                 "it, or after 30 rounds or 30 ms, as batches do with 0.03; 0: 50 rounds")
      ->check(real_number(0, 1))
      ->capture_default_str();
  app.add_flag(
         "--run-file", flags->run_file,
         "also run accepted samples as plain Python on the CPU, and say whether each does what "
         "the judged program does (same, other, not tried)")
      ->excludes("--search");
  app.add_option("--file-timeout", flags->file_timeout,
                 "seconds that such a run may take before the sample counts as not tried")
      ->check(real_number(0.1, 86400))
      ->capture_default_str();
  app.add_flag("--no-time", flags->no_time, "judge only");
  app.add_flag("--json", flags->json,
               "print one line of JSON for each model as soon as it is judged, and one for all of "
               "them; with --beside, of each policy");
  flags->machine.limit_flags = {{"record", "--build-timeout"},
                                {"slice", "--build-timeout"},
                                {"compile", "--build-timeout"},
                                {"trial", "--trial-timeout"},
                                {"run", "--file-timeout"}};
  flags->machine.add_to(app);
  flags->machine.add_executors_to(app);
  app.footer(
      "Without --search each model is written whole: what the policy can do by itself. The exit\n"
      "code is 0 whatever the outcomes, which docs/formats/eval.md explains.\n\n"
      "  kernelwright eval models/ --policy teacher --samples 4 --out runs/teacher\n"
      "  kernelwright eval models/ --policy local --samples 8 --beside teacher@1 --out runs/both\n"
      "  kernelwright eval models/ --policy replay --answers answers/ --baseline --out runs/mine\n"
      "  kernelwright eval suites/level5.jsonl --policy local --search 30s --out runs/search\n"
      "  kernelwright report runs/both");
  return [flags, &app] {
    for (std::string& suite : flags->suites) suite = plain_path(suite);
    flags->given = flags_given(app);
    flags->given["suite"] = flags->suites;
    const bool kept = !flags->lines.empty() || !flags->out.empty();
    if (!kept && (!flags->merge.empty() || flags->shard != "1/1")) {
      throw InputError("--shard and --merge need --out FOLDER or --lines FILE, for what is judged");
    }
    return run_eval(*flags);
  };
}

}  // namespace kw
