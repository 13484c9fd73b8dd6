// kernelwright report RUN [--against RUN]
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/common.h"
#include "formats/error.h"
#include "report/eval_page.h"
#include "report/eval_run.h"
#include "report/eval_summary.h"
#include "report/layers.h"
#include "report/run_comparison.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string run, against, out, csv, folder;
  bool json = false, no_sources = false;
};

Json summary_json(const EvalRun& run, const std::vector<RunMetrics>& metrics,
                  const EvalRun* against, const std::vector<RunComparison>& comparisons,
                  const Opinions& opinions) {
  Json out = {{"run", run.name}, {"asked", run.asked}, {"policies", Json::array()}};
  for (const RunMetrics& each : metrics) {
    if (!each.level) {
      out["policies"].push_back({{"label", each.label}, {"summary", to_json(each.metrics)}});
    } else {
      out["policies"].back()["levels"][*each.level] = to_json(each.metrics);
    }
  }
  for (Json& policy : out["policies"]) {
    policy["layers"] = to_json(layers_of(run, policy.at("label"), opinions));
  }
  for (const RunComparison& each : comparisons) {
    out["against"].push_back({{"label", each.ours},
                              {"their_label", each.theirs},
                              {"run", against->name},
                              {"tasks", each.tasks},
                              {"left_out", each.left_out},
                              {"comparison", to_json(each.comparison)}});
  }
  return out;
}

int run(const Flags& flags) {
  EvalRun run = read_eval_run(flags.run);
  if (!flags.folder.empty()) {
    if (!fs::is_directory(flags.folder)) {
      throw InputError("--sources " + flags.folder + ": there is no such folder");
    }
    run.folder = flags.folder;
  }
  std::optional<EvalRun> against;
  if (!flags.against.empty()) against = read_eval_run(flags.against);
  const EvalRun* other = against ? &*against : nullptr;
  const std::vector<RunMetrics> metrics = measure_run(run);
  std::vector<RunComparison> comparisons;
  if (other) comparisons = compare_runs(run, *other);
  const fs::path page = !flags.out.empty() ? fs::path(flags.out)
                        : fs::is_directory(flags.run)
                            ? fs::path(flags.run) / "report.html"
                            : fs::path(flags.run).replace_extension(".html");
  for (const std::string& input : {flags.run, flags.against}) {
    std::error_code error;
    if (!input.empty() && fs::equivalent(page, input, error)) {
      throw InputError("--out: " + page.string() + " is the run itself");
    }
  }
  const Opinions opinions = run.folder.empty() ? Opinions() : read_opinions(run.folder);
  write_file(page, eval_page(run, metrics, other, comparisons, opinions, !flags.no_sources));
  if (!flags.csv.empty()) write_file(flags.csv, eval_csv(run));
  if (flags.json) {
    Json out = summary_json(run, metrics, other, comparisons, opinions);
    if (!opinions.empty()) {
      for (const auto& [label, one] : agreements(run, opinions)) {
        out["opinions"].push_back({{"label", label}, {"agreement", to_json(one)}});
      }
    }
    std::cout << out.dump() << std::endl;
  } else {
    for (const RunMetrics& each : metrics) {
      if (each.level) {
        std::cout << level_text(*each.level, each.metrics);
        continue;
      }
      if (!each.label.empty()) std::cout << each.label << ": ";
      std::cout << summary_text(each.metrics);
    }
    if (!opinions.empty()) std::cout << agreement_text(agreements(run, opinions));
    if (other) std::cout << "against " << other->name << ", " << comparison_text(comparisons);
    std::cout << std::flush;
  }
  std::fprintf(stderr, "%s\n", page.c_str());
  return 0;
}

}  // namespace

Command add_report(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("run", flags->run,
                 "a folder that kernelwright eval --out left, or a file of its --lines; of several "
                 "shards, the file that they were merged into")
      ->required();
  app.add_option("--against", flags->against,
                 "another run on the same models, to be compared with, task by task");
  app.add_option("--out", flags->out,
                 "the page (default: report.html in the run's folder, or beside its file)");
  app.add_option("--csv", flags->csv, "a file for a table too, of one row for each sample");
  app.add_option("--sources", flags->folder,
                 "the folder of eval's --out, where the lines are not in it");
  app.add_flag("--no-sources", flags->no_sources,
               "a small page: without what was written, and the models' files");
  app.add_flag("--json", flags->json, "print one object of metrics, in place of text");
  app.footer(
      "One self-contained page: metrics of each policy and level, pass@k, what samples were\n"
      "rejected for, and each model with its speedup and its samples. Metrics: "
      "docs/formats/eval.md.");
  return [flags] { return run(*flags); };
}

}  // namespace kw
