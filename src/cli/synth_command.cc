// kernelwright synth --level N --count N --out TASKS.jsonl
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "cli/commands.h"
#include "cli/support/common.h"
#include "cli/synth/synth_augment.h"
#include "cli/synth/synth_file.h"
#include "cli/synth/synth_stats.h"
#include "formats/base/error.h"
#include "formats/base/nearest.h"
#include "formats/base/read_file.h"
#include "report/synth/synth_summary.h"
#include "synth/task_row.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

struct SynthFlags {
  int level = 5;
  uint64_t count = 100, seed = 1;
  std::string dtype = "float32", window, twin = "2^16:2^20", out, check, stats, augment;
  std::string operators = "csp-dag";
  std::vector<std::string> only;
  std::string split = "all", measure = "uniform";
  bool no_hygiene = false, cover = false;
  MachineFlags machine;
};

// 2^34 or 17179869184.
double number(const std::string& text, const std::string& flag) {
  try {
    size_t used = 0;
    double value = std::stod(text, &used);
    if (used < text.size() && text[used] == '^') {
      const std::string power = text.substr(used + 1);
      size_t rest = 0;
      value = std::pow(value, std::stod(power, &rest));
      used += 1 + rest;
    }
    if (used == text.size() && value >= 1 && value < 0x1p60) return value;
  } catch (const std::logic_error&) {
    // It is no number, or too large for one: the line below says what is expected.
  }
  throw InputError(flag + ": expected numbers like 2^34 or 1e9, found " + text);
}

// LOW:HIGH
std::pair<double, double> window(const std::string& text, const std::string& flag) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) {
    throw InputError(flag + ": expected LOW:HIGH, as 2^24:2^28, found " + text);
  }
  const double low = number(text.substr(0, colon), flag);
  const double high = number(text.substr(colon + 1), flag);
  if (low * 2 > high) {
    throw InputError(flag + ": the upper end has to be twice the lower one at least");
  }
  return {low, high};
}

SynthOptions options_of(const SynthFlags& flags) {
  SynthOptions options;
  options.level = flags.level;
  options.seed = flags.seed;
  options.dtype = parse_dtype(flags.dtype);
  options.limits.log_measure = flags.measure == "log";
  options.cover = flags.cover;
  if (flags.split != "all") options.split = parse_split(flags.split);
  if (flags.window == "published") {
    options.limits.halve_low = true;
  } else if (!flags.window.empty()) {
    std::tie(options.limits.low_flops, options.limits.high_flops) =
        window(flags.window, "--window");
  }
  if (flags.operators == "all") options.operators = pointers(synth_operators());
  if (!flags.only.empty()) options.operators.clear();
  for (const std::string& name : flags.only) {
    const SynthOperator* op = find_synth_operator(name);
    if (!op) {
      std::vector<std::string> known;
      for (const SynthOperator& each : synth_operators()) known.emplace_back(each.name);
      std::string all;
      for (const std::string& each : known) all += " " + each;
      throw InputError("--only: there is no operator " + name + " (is " + nearest(name, known) +
                       " meant?); there are" + all);
    }
    options.operators.push_back(op);
  }
  return options;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void print_drawing(const SynthCounts& counts, std::vector<double> seconds) {
  if (!seconds.empty()) {
    std::sort(seconds.begin(), seconds.end());
    const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    std::printf("drawing alone: %.0f/s, median %.0f us, 99th percentile %.0f us\n",
                static_cast<double>(seconds.size()) / all, 1e6 * seconds[seconds.size() / 2],
                1e6 * seconds[seconds.size() * 99 / 100]);
  }
  std::printf(
      "words drawn %lld, %lld without ranks that fit; skeletons %lld, %lld without sizes "
      "(proved)\n",
      static_cast<long long>(counts.words), static_cast<long long>(counts.words_without_ranks),
      static_cast<long long>(counts.skeletons),
      static_cast<long long>(counts.contradictions + counts.empty));
  std::printf("given up without proof: %lld\n",
              static_cast<long long>(counts.unsolved + counts.timed_out + counts.words_given_up));
}

void write_unexamined(const Synthesiser& synthesiser, uint64_t begin, uint64_t end,
                      RowWriter& rows) {
  SynthCounts counts;
  std::vector<double> seconds;
  for (uint64_t index = begin; index < end; ++index) {
    const Clock::time_point start = Clock::now();
    const SynthTask task = draw_unexamined(synthesiser, index, counts);
    seconds.push_back(seconds_since(start));
    rows.write(synth_row(task, synthesiser.options()).dump());
  }
  rows.finish();
  print_drawing(counts, std::move(seconds));
}

void write_examined(const Drawing& drawing, const MachineFlags& machine_flags, uint64_t begin,
                    uint64_t end, RowWriter& rows) {
  Machine machine(machine_flags, {});
  machine.executor.hello();
  Examiner examiner(machine.pool, machine.executor, machine.profile);
  SynthCounts counts;
  SynthCoverage coverage;
  draw_clean(drawing.synthesiser, *drawing.hygiene, begin, end, examiner, counts,
             [&](const SynthTask& task) {
               const Json row = synth_row(task, drawing.synthesiser.options());
               coverage.add(JsonReader(row, "row"));
               rows.write(row.dump());
             });
  rows.finish();
  std::fputs(examined_text(coverage).c_str(), stdout);
  print_drawing(counts, {});
}

// Tasks that are there, examined on other inputs.
int check(const SynthFlags& flags) {
  const std::vector<StoredTask> tasks = read_tasks(read_file(flags.check, kMostLines), flags.check);
  const bool full_size = flags.machine.chosen_backend() == "cuda";
  Machine machine(flags.machine, {});
  machine.executor.hello();
  Examiner examiner(machine.pool, machine.executor, machine.profile);
  size_t flawed = 0, twins = 0;
  for (size_t begin = 0; begin < tasks.size(); begin += examiner.at_once()) {
    const size_t end = std::min(tasks.size(), begin + examiner.at_once());
    std::vector<Examiner::Model> models;
    for (size_t i = begin; i < end; ++i) {
      const bool twin = !full_size && !tasks[i].twin.empty();
      twins += twin;
      const std::string& text = twin ? tasks[i].twin : tasks[i].model;
      models.push_back({tasks[i].id + ".py", text, Random(flags.seed, i).bits()});
    }
    const std::vector<Examiner::Examined> examined = examiner.examine(models);
    for (size_t i = 0; i < examined.size(); ++i) {
      const Hygiene& found = examined[i].hygiene;
      if (found.flaw == Flaw::kNone) continue;
      ++flawed;
      std::printf("%s: %s: %s\n", tasks[begin + i].id.c_str(),
                  std::string(flaw_name(found.flaw)).c_str(), found.reason.c_str());
    }
    std::fprintf(stderr, "%zu of %zu\n", end, tasks.size());
  }
  const size_t whole = tasks.size() - twins;
  const std::string how = twins == 0   ? "at full size"
                          : whole == 0 ? "by their twins"
                                       : "by their twins (" + std::to_string(whole) + " have none)";
  std::printf("%zu tasks examined %s, %zu are no fair tasks on these inputs\n", tasks.size(),
              how.c_str(), flawed);
  return 0;
}

int run_synth(const SynthFlags& flags) {
  if (!flags.stats.empty()) return synth_stats(flags.stats, flags.out);
  if (!flags.check.empty()) return check(flags);
  if (flags.out.empty()) throw InputError("--out is required: the file to write");
  if (!flags.augment.empty()) {
    return synth_augment(flags.augment, flags.out, flags.count, flags.seed, !flags.no_hygiene,
                         flags.machine);
  }
  Drawing drawing{Synthesiser(options_of(flags)), std::nullopt};
  if (!flags.no_hygiene) {
    const auto [low, high] = window(flags.twin, "--twin");
    drawing.hygiene = {low, high, flags.machine.chosen_backend() == "cuda"};
  }
  AppendedLines file(flags.out);
  const uint64_t before = rows_before(file, drawing, flags.count);
  RowWriter rows(file, before, flags.count);
  if (before == flags.count) {
    rows.finish();
  } else if (flags.no_hygiene) {
    write_unexamined(drawing.synthesiser, before, flags.count, rows);
  } else {
    write_examined(drawing, flags.machine, before, flags.count, rows);
  }
  return 0;
}

}  // namespace

Command add_synth(CLI::App& app) {
  auto flags = std::make_shared<SynthFlags>();
  app.description(
      "Draw PyTorch programs to write kernels for (docs/synthesis.md). Operators, wiring and\n"
      "sizes are each drawn uniformly over what is possible. A line of the file is one program,\n"
      "as a model file and as one function. A program is drawn again if it is no fair task: its\n"
      "results are not finite, or always the same, or depend on the last bits, or ignore an\n"
      "input. To find out, its twin (small sizes) runs on the CPU, and on a GPU the program\n"
      "itself, too. A run that was killed goes on where it was.\n\n"
      "  kernelwright synth --level 5 --count 1000 --out tasks.jsonl\n"
      "  kernelwright synth --level 2 --window 2^24:2^28 --out small.jsonl     for training\n"
      "  kernelwright synth --level 5 --count 100000 --no-hygiene --out many.jsonl\n"
      "  kernelwright synth --stats many.jsonl --out many.html             what they cover\n"
      "  kernelwright synth --augment model.py --count 10 --out sizes.jsonl");
  app.add_option("--level", flags->level, "operators of each program")
      ->check(CLI::Range(1, 40))
      ->capture_default_str();
  app.add_option("--count", flags->count, "programs")
      ->check(whole_number(1, uint64_t{1} << 40))
      ->capture_default_str();
  add_seed_flag(app, flags->seed, "other programs")->capture_default_str();
  app.add_option("--dtype", flags->dtype, "of all tensors: float32, float16 or bfloat16")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16"}))
      ->capture_default_str();
  app.add_option(
      "--window", flags->window,
      "floating-point operations of a program, LOW:HIGH (default: 2^34:2^35); LOW is "
      "lowered to a quarter of what a program can reach. published: 2^34:2^35, and LOW is "
      "halved until a program reaches it");
  CLI::Option* operators =
      app.add_option("--operators", flags->operators,
                     "what to draw from: the 61 operators of CSP-DAG, or all that there are")
          ->check(CLI::IsMember({"csp-dag", "all"}))
          ->capture_default_str();
  app.add_option("--only", flags->only, "operators to draw from, by name, separated by commas")
      ->delimiter(',')
      ->excludes(operators);
  app.add_option(
         "--measure", flags->measure,
         "of sizes: uniform over all that fit, most of which are large; log weighs each size "
         "x by 1/x")
      ->check(CLI::IsMember({"uniform", "log"}))
      ->capture_default_str();
  app.add_option("--split", flags->split,
                 "programs of one split alone: train, validation and test share no structure, and "
                 "in those of unseen a step reads a result by a pair of operators that none of the "
                 "others has")
      ->check(CLI::IsMember({"all", "train", "validation", "test", "unseen"}))
      ->capture_default_str();
  app.add_flag(
      "--cover", flags->cover,
      "go through all operators (level 1) or ordered pairs (level 2), in a shuffled order");
  app.add_option("--twin", flags->twin,
                 "operations of the twin, in which a program is examined on the CPU, LOW:HIGH")
      ->capture_default_str();
  app.add_flag("--no-hygiene", flags->no_hygiene,
               "take programs as they are drawn: thousands a second, and nothing is run");
  flags->machine.add_to(app);
  app.add_option("--out", flags->out, "the file to write");
  CLI::Option* check =
      app.add_option("--check", flags->check,
                     "draw nothing: examine the tasks of this file, on inputs drawn from --seed");
  CLI::Option* augment =
      app.add_option(
             "--augment", flags->augment,
             "draw no programs: this model file in other sizes, by its module-level integer "
             "constants")
          ->excludes(check);
  app.add_option("--stats", flags->stats,
                 "draw nothing: say what the tasks of this file cover; --out is a page with more")
      ->excludes(check)
      ->excludes(augment);
  return [flags] { return run_synth(*flags); };
}

}  // namespace kw
