// kernelwright report RUN [--against RUN]
#include <algorithm>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "eval/run/eval_report.h"
#include "eval/run/eval_run.h"
#include "eval/run/eval_summary.h"
#include "formats/base/error.h"
#include "formats/output.h"
#include "report/eval_page.h"
#include "report/html.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

struct ReportFlags {
  std::string run, against, out, csv, folder;
  std::vector<std::string> pairs;
  bool json = false, no_sources = false;
};

// InputError where a file that is to be written is one that is read.
void check_is_no_run(const char* flag, const fs::path& file, const ReportFlags& flags) {
  for (const std::string& run : {flags.run, flags.against}) {
    if (run.empty()) continue;
    for (const fs::path& read :
         {fs::path(run), fs::path(run) / kEvalLinesFile, fs::path(run) / kOpinionsFile}) {
      std::error_code error;
      if (!fs::equivalent(file, read, error)) continue;
      throw InputError(std::string(flag) + ": " + file.string() + " is the run itself");
    }
  }
}

bool has_policy(const EvalRun& run, const std::string& name) {
  return std::ranges::any_of(
      run.labels, [&](const std::string& label) { return policy_name(run, label) == name; });
}

// Names may have a "=" themselves: folders of models.
PolicyPair pair_of(const std::string& text, const EvalRun& ours, const EvalRun& theirs) {
  for (size_t at = text.find('='); at != std::string::npos; at = text.find('=', at + 1)) {
    PolicyPair out{text.substr(0, at), text.substr(at + 1)};
    if (has_policy(ours, out.first) && has_policy(theirs, out.second)) return out;
  }
  throw InputError("--pair " + text + ": expected OURS=THEIRS, such as local=teacher; " +
                   policies_text(ours) + "; " + policies_text(theirs));
}

int run_report(const ReportFlags& flags) {
  EvalRun run = read_eval_run(flags.run);
  if (!flags.folder.empty()) {
    if (!fs::is_directory(flags.folder)) {
      throw InputError("--sources " + flags.folder + ": there is no such folder");
    }
    run.folder = flags.folder;
  }
  std::optional<EvalRun> against;
  if (!flags.against.empty()) against = read_eval_run(flags.against);
  const auto page_in = [](const fs::path& place) {
    return fs::is_directory(place) ? place / "report.html" : place;
  };
  const fs::path page = !flags.out.empty() ? page_in(flags.out)
                        : fs::is_directory(flags.run)
                            ? page_in(flags.run)
                            : fs::path(flags.run).replace_extension(".html");
  check_is_no_run("--out", page, flags);
  check_out_file(page, kPageFile);
  if (!flags.csv.empty()) {
    check_is_no_run("--csv", flags.csv, flags);
    check_out_file(flags.csv, kSampleTable);
  }
  std::vector<PolicyPair> pairs;
  for (const std::string& text : flags.pairs) pairs.push_back(pair_of(text, run, *against));
  const EvalReport report = report_on(std::move(run), against, pairs);
  write_file(page, eval_page(report, !flags.no_sources), kPageFile);
  if (!flags.csv.empty()) write_file(flags.csv, eval_csv(report.run), kSampleTable);
  std::cout << (flags.json ? to_json(report).dump() + "\n" : report_text(report)) << std::flush;
  std::fprintf(stderr, "%s\n", page.c_str());
  return 0;
}

}  // namespace

Command add_report(CLI::App& app) {
  auto flags = std::make_shared<ReportFlags>();
  app.add_option("run", flags->run,
                 "a folder that kernelwright eval --out left, or a file of its --lines; of several "
                 "shards, the file that they were merged into")
      ->required();
  CLI::Option* against =
      app.add_option("--against", flags->against,
                     "another run on the same models, to be compared with, task by task");
  app.add_option("--pair", flags->pairs,
                 "with --against, a policy of this run and one of the other, to be compared "
                 "(default: those of one name); may be given several times")
      ->type_name("OURS=THEIRS")
      ->allow_extra_args(false)
      ->needs(against);
  app.add_option(
      "--out", flags->out,
      "the page, or a folder for it (default: report.html in the run's folder, or beside "
      "its file)");
  app.add_option("--csv", flags->csv, "a file for a table too, of one row for each sample");
  app.add_option("--sources", flags->folder,
                 "the folder of eval's --out, where the lines are not in it");
  app.add_flag("--no-sources", flags->no_sources,
               "a small page: without what was written, and the models' files");
  app.add_flag("--json", flags->json, "print one object of metrics, in place of text");
  app.footer(
      "One self-contained page: metrics of each policy and level, pass@k, what samples were\n"
      "rejected for, and each model with its speedup and its samples (docs/metrics.md).\n\n"
      "  kernelwright report runs/a --csv a.csv\n"
      "  kernelwright report runs/a --against runs/b\n"
      "  kernelwright report runs/a --against runs/b --pair local=teacher --json");
  return [flags] { return run_report(*flags); };
}

}  // namespace kw
