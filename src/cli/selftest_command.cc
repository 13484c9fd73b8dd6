// kernelwright selftest [CASES...]
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "formats/base/error.h"
#include "formats/base/exit_code.h"
#include "formats/install.h"
#include "verify/corpus/selftest.h"

namespace kw {
namespace {

struct SelftestFlags {
  std::vector<std::string> places = {shipped("tests/corpora")};
  std::string family;
  int trials = 0, part = 1, parts = 1;
  bool json = false, verbose = false, sanitize = false;
  std::optional<uint64_t> seed;
  MachineFlags machine;
};

// What became of the cases of one family, or of one stage.
struct Tally {
  int cases = 0, rejected = 0, accepted = 0, not_judged = 0;
  int twins = 0, caught = 0;  // of wrong programs: twins accepted; accepted without the one check

  void add(const SelfTestResult& result) {
    ++cases;
    const auto& outcome = result.candidate.outcome;
    if (!result.judged || outcome == Verdict::Outcome::kNotJudged) {
      ++not_judged;
    } else {
      ++(outcome == Verdict::Outcome::kAccepted ? accepted : rejected);
    }
    twins += result.twin.outcome == Verdict::Outcome::kAccepted;
    caught += result.unchecked.outcome == Verdict::Outcome::kAccepted;
  }
};

void print_table(const char* title, const char* by, const std::map<std::string, Tally>& rows,
                 bool wrong) {
  if (rows.empty()) return;
  std::printf("\n%-8s %-20s %6s %9s %9s %11s", title, by, "cases", "rejected", "accepted",
              "not judged");
  if (wrong) std::printf(" %15s %24s", "twins accepted", "accepted without check");
  std::printf("\n");
  Tally all;
  auto line = [&](const std::string& name, const Tally& t) {
    std::printf("%-8s %-20s %6d %9d %9d %11d", "", name.c_str(), t.cases, t.rejected, t.accepted,
                t.not_judged);
    if (wrong) std::printf(" %15d %24d", t.twins, t.caught);
    std::printf("\n");
  };
  for (const auto& [name, tally] : rows) {
    line(name, tally);
    all.cases += tally.cases, all.rejected += tally.rejected, all.accepted += tally.accepted;
    all.not_judged += tally.not_judged, all.twins += tally.twins, all.caught += tally.caught;
  }
  line("all", all);
}

int run_selftest(const SelftestFlags& flags) {
  if (flags.part > flags.parts) {
    throw InputError("--part " + std::to_string(flags.part) + " is beyond --parts " +
                     std::to_string(flags.parts));
  }
  std::vector<CorpusCase> cases = read_corpus({flags.places.begin(), flags.places.end()});
  std::erase_if(cases, [&](const CorpusCase& test) {
    return !flags.family.empty() && test.family != flags.family;
  });
  const SessionConfig config = flags.machine.session_config({});
  const auto sanitizer = sanitizer_for(flags.sanitize, config.executor);
  Session machine(config);
  VerifyOptions options;
  options.sanitizer = sanitizer.get();
  options.trials = flags.trials;
  options.seed = seed_or_secret(flags.seed);
  machine.executor.hello();
  SelfTest selftest(machine.pool, machine.executor, machine.profile);
  std::map<std::string, Tally> wrong, stages, lies, honest;
  int surprises = 0, known = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (static_cast<int>(i) % flags.parts != flags.part - 1) continue;
    const CorpusCase& test = cases[i];
    const SelfTestResult result = selftest.run(test, options);
    const std::string surprise = result.surprise();
    surprises += !surprise.empty();
    known += result.judged && test.known_fault && surprise.empty();
    (test.program_wrong ? wrong : test.file_lies ? lies : honest)[test.family].add(result);
    if (test.program_wrong) stages[std::string(stage_name(test.stage))].add(result);
    if (flags.json) {
      std::cout << to_json(result).dump() << "\n";
    } else if (!surprise.empty()) {
      std::printf("%s: %s\n", test.path.c_str(), surprise.c_str());
    } else if (flags.verbose) {
      std::printf("%s: %s, %.1f s\n", test.path.c_str(),
                  result.judged ? "as labelled" : "not to be judged on this backend",
                  result.seconds);
    }
    flush_stdout();
  }
  if (!flags.json) {
    print_table("wrong", "family", wrong, true);
    print_table("", "stage", stages, true);
    print_table("lies", "family", lies, false);
    print_table("honest", "family", honest, false);
    std::printf(
        "\n%d surprise%s%s\n", surprises, surprises == 1 ? "" : "s",
        known ? (", " + std::to_string(known) + " known to be judged wrongly").c_str() : "");
  }
  return surprises ? 1 : 0;
}

}  // namespace

Command add_selftest(CLI::App& app) {
  auto flags = std::make_shared<SelftestFlags>();
  app.add_option("case", flags->places, "files of cases, or folders (docs/formats/corpus.md)")
      ->capture_default_str();
  app.add_option("--family", flags->family, "the cases of one family only");
  app.add_option("--part", flags->part, "of --parts, which cases: every so many-th, from this one")
      ->check(CLI::PositiveNumber);
  app.add_option("--parts", flags->parts, "parts that run apart")->check(CLI::PositiveNumber);
  add_trials_flag(app, flags->trials);
  add_judging_seed_flag(app, flags->seed);
  add_sanitize_flag(app, flags->sanitize);
  app.add_flag("--verbose", flags->verbose, "a line for each case");
  app.add_flag("--json", flags->json, "print one line of JSON for each case");
  flags->machine.add_to(app);
  std::string all;
  for (const Check& check : checks()) {
    all += "\n  " + std::string(check.name) + ": " + std::string(check.what);
  }
  app.footer(
      "A wrong program must be rejected at the stage that its first line names. Its honest twin "
      "must\n"
      "be accepted, and so must the program itself when the checks are left out that are there to\n"
      "catch it. Honest programs, and right ones in files that lie, must be accepted. Exit codes: "
      "0 all is as labelled, 1 not, 2 a broken case, 3 the machine's fault.\n"
      "\nChecks that a case can name:" +
      all);
  return [flags] { return run_selftest(*flags); };
}

}  // namespace kw
