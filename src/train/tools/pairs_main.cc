// train_pairs: writes pairs of tasks and the teacher's answers as lines of JSON, measures how fast
// they are made, and judges whether they are right.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>

#include "formats/base/error.h"
#include "formats/json.h"
#include "formats/output.h"
#include "policy/chat/conversation.h"
#include "runtime/session.h"
#include "synth/hygiene.h"
#include "train/data/pairs.h"
#include "train/data/pairs_check.h"
#include "train/judge/verifier_judge.h"
#include "worker/jobs.h"

namespace kw::train {
namespace {

constexpr kw::FileKind kRows = {"file of conversations", R"("messages":)"};
constexpr kw::FileKind kReport = {"report on pairs", R"("cells_all_right":)"};

struct Flags {
  PairOptions pairs;
  uint64_t count = 1000, batch = 512, first = 0;
  int log_low = 34, log_high = 35, log_elements = 0;
  std::string out, device = "h200";
  std::string check, report;  // the judge's backend (empty: no judge); the file of its report
  int executors = 1;
  int64_t cells = 0;
};

// Judges pairs as they come.
class Checking {
 public:
  Checking(const Flags& flags, Session& session)
      : flags_(flags),
        judge_(default_worker_config(), session.executor, session.profile,
               {.time = false, .build_seconds = 120, .trial_seconds = 60}, &session.zygote),
        examiner_(session.pool, session.executor, session.profile),
        check_(
            judge_,
            [this](const Task& task) { return examiner_.examine(task, kSeed).flaw == Flaw::kNone; },
            flags.cells) {}

  void add(const std::vector<Pair>& pairs) {
    check_.check(pairs, kSeed);
    const PairVerdicts& found = check_.verdicts();
    std::fprintf(stderr,
                 "pairs: %lld right, %lld wrong, %lld not judged, %lld of unfair programs, %zu "
                 "cells\n",
                 static_cast<long long>(found.right), static_cast<long long>(found.wrong),
                 static_cast<long long>(found.not_judged), static_cast<long long>(found.unfair),
                 found.cells.size());
    if (flags_.report.empty()) return;
    write_file(flags_.report, to_json(found).dump(1) + "\n", kReport);
  }
  // Returns 1 if some are wrong, 4 if some or all were not judged, else 0.
  int exit_code() const {
    const PairVerdicts& found = check_.verdicts();
    return found.wrong > 0 ? 1 : found.not_judged > 0 || found.right == 0 ? 4 : 0;
  }

 private:
  static constexpr uint64_t kSeed = 1;  // of inputs
  const Flags& flags_;
  VerifierJudge judge_;
  Examiner examiner_;
  PairCheck check_;
};

void write(std::ostream& out, const Pair& pair) {
  out << conversation_line({pair.prompt, pair.plan, pair.code}, {{"index", pair.index},
                                                                 {"level", pair.level},
                                                                 {"schedule", pair.schedule},
                                                                 {"operators", pair.operators}});
}

SessionConfig session_config(const Flags& flags) {
  SessionConfig config = default_session_config(device_profile(flags.device),
                                                flags.check.empty() ? "cpu" : flags.check);
  config.workers.parallel = std::max(2, threads_of(flags.pairs.threads));
  config.executor.processes = flags.executors;
  return config;
}

int run(const Flags& flags) {
  Session session(session_config(flags));
  PairOptions options = flags.pairs;
  options.limits[0].low_flops = std::exp2(flags.log_low);
  options.limits[0].high_flops = std::exp2(flags.log_high);
  if (flags.log_elements > 0) {
    options.limits[0].tensor = std::exp2(flags.log_elements);
    options.limits[0].total = 4 * options.limits[0].tensor;
  }
  PairSource source(options, session.pool, session.profile);
  std::ofstream file;
  if (!flags.report.empty()) kw::check_out_file(flags.report, kReport);
  if (!flags.out.empty()) {
    kw::check_out_file(flags.out, kRows);
    file.open(flags.out, std::ios::trunc);
  }
  std::optional<Checking> checking;
  if (!flags.check.empty()) checking.emplace(flags, session);
  const uint64_t end = flags.first + flags.count;
  for (uint64_t begin = flags.first; begin < end; begin += flags.batch) {
    const std::vector<Pair> pairs = source.make(begin, std::min(begin + flags.batch, end));
    for (const Pair& pair : pairs) {
      if (!flags.out.empty()) write(file, pair);
    }
    if (checking) checking->add(pairs);
    const PairCounts& c = source.counts();
    const double seconds = c.draw_seconds + c.record_seconds + c.write_seconds;
    std::fprintf(stderr,
                 "pairs: %lld of %lld programs, %.0f/s (seconds: drawn %.1f, recorded %.1f, "
                 "written %.1f), %lld not recorded, %lld not written\n",
                 static_cast<long long>(c.pairs), static_cast<long long>(c.programs),
                 static_cast<double>(c.pairs) / seconds, c.draw_seconds, c.record_seconds,
                 c.write_seconds, static_cast<long long>(c.unrecorded),
                 static_cast<long long>(c.unwritten));
  }
  if (!source.first_fault().empty()) {
    std::fprintf(stderr, "pairs: the first that was not recorded: %s\n",
                 source.first_fault().c_str());
  }
  if (!flags.out.empty() && !file.flush()) throw EnvironmentError("cannot write " + flags.out);
  return checking ? checking->exit_code() : 0;
}

}  // namespace

}  // namespace kw::train

int main(int argc, char** argv) {
  kw::train::Flags flags;
  CLI::App app("Pairs of tasks and the teacher's answers, drawn from a seed");
  app.add_option("--count", flags.count, "programs")->capture_default_str();
  app.add_option("--first", flags.first, "number of the first program")->capture_default_str();
  app.add_option("--levels", flags.pairs.levels, "operators of a program, each as likely")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--schedules", flags.pairs.schedules, "answers to each")->capture_default_str();
  app.add_option("--seed", flags.pairs.seed)->capture_default_str();
  app.add_option("--low", flags.log_low, "FLOPs of a program, from 2^LOW")->capture_default_str();
  app.add_option("--high", flags.log_high, "to 2^HIGH")->capture_default_str();
  app.add_option(
      "--log-elements", flags.log_elements,
      "elements of a tensor, at most 2 to this: what only moves some counts no FLOPs; 0: "
      "as memory allows");
  app.add_option("--threads", flags.pairs.threads,
                 "that write, and processes that record; 0: one for each core")
      ->capture_default_str();
  app.add_option("--batch", flags.batch, "programs that are made at once")->capture_default_str();
  app.add_option("--device", flags.device, "h200, h100, a100")->capture_default_str();
  app.add_option(
      "--out", flags.out,
      "file of conversations (docs/formats/conversations.md); without, pairs are only counted");
  app.add_option("--check", flags.check, "judge every pair of a fair program, on cpu or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--executors", flags.executors, "processes of the judge")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--cells", flags.cells,
                 "judge so many pairs of the same operators and kind of schedule; 0: all");
  app.add_option("--report", flags.report, "file for what was judged, and every failure");
  CLI11_PARSE(app, argc, argv);
  try {
    return kw::train::run(flags);
  } catch (const kw::InputError& error) {
    std::fprintf(stderr, "train_pairs: %s\n", error.what());
    return 2;
  } catch (const kw::EnvironmentError& error) {
    std::fprintf(stderr, "train_pairs: %s\n", error.what());
    return 3;
  }
}
