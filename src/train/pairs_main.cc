// train_pairs: pairs of tasks and the teacher's answers as lines of JSON, and how fast they are
// made.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "formats/error.h"
#include "formats/json.h"
#include "train/pairs.h"
#include "worker/jobs.h"

namespace {

struct Flags {
  kw::PairOptions pairs;
  uint64_t count = 1000, batch = 512, first = 0;
  int log_low = 34, log_high = 35;
  std::string out, device = "h200";
};

void write(std::ostream& out, const kw::Pair& pair) {
  out << kw::Json{{"index", pair.index},       {"level", pair.level},
                  {"schedule", pair.schedule}, {"operators", pair.operators},
                  {"prompt", pair.prompt},     {"plan", pair.plan},
                  {"code", pair.code}}
             .dump()
      << "\n";
}

int run(const Flags& flags) {
  kw::WorkerPool pool(kw::default_worker_config());
  const kw::DeviceProfile profile = kw::device_profile(flags.device);
  kw::PairOptions options = flags.pairs;
  options.limits[0].low_flops = std::exp2(flags.log_low);
  options.limits[0].high_flops = std::exp2(flags.log_high);
  kw::PairSource source(options, pool, profile);
  std::ofstream file;
  if (!flags.out.empty()) file.open(flags.out, std::ios::trunc);
  const uint64_t end = flags.first + flags.count;
  for (uint64_t begin = flags.first; begin < end; begin += flags.batch) {
    for (const kw::Pair& pair : source.make(begin, std::min(begin + flags.batch, end))) {
      if (!flags.out.empty()) write(file, pair);
    }
    const kw::PairCounts& c = source.counts();
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
  if (!flags.out.empty() && !file.flush()) throw kw::EnvironmentError("cannot write " + flags.out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
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
  app.add_option("--threads", flags.pairs.threads, "0: one for each core")->capture_default_str();
  app.add_option("--batch", flags.batch, "programs that are made at once")->capture_default_str();
  app.add_option("--device", flags.device, "h200, h100, a100")->capture_default_str();
  app.add_option("--out", flags.out, "file of lines of JSON; without, pairs are only counted");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(flags);
  } catch (const kw::InputError& error) {
    std::fprintf(stderr, "train_pairs: %s\n", error.what());
    return 2;
  } catch (const kw::EnvironmentError& error) {
    std::fprintf(stderr, "train_pairs: %s\n", error.what());
    return 3;
  }
}
