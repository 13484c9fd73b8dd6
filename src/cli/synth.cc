// kernelwright synth --level N --count N --out TASKS.jsonl
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "cli/commands.h"
#include "formats/error.h"
#include "synth/task_row.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Flags {
  int level = 5;
  uint64_t count = 100, seed = 1;
  std::string dtype = "float32", window, out;
  std::vector<std::string> only;
};

// 2^34 or 17179869184.
double number(const std::string& text) {
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
  }
  throw InputError("--window: expected numbers like 2^34 or 1e9, found " + text);
}

SynthOptions options_of(const Flags& flags) {
  SynthOptions options;
  options.level = flags.level;
  options.seed = flags.seed;
  options.dtype = parse_dtype(flags.dtype);
  if (!flags.window.empty()) {
    const size_t colon = flags.window.find(':');
    if (colon == std::string::npos) {
      throw InputError("--window: expected LOW:HIGH, as 2^24:2^28, found " + flags.window);
    }
    options.limits.low_flops = number(flags.window.substr(0, colon));
    options.limits.high_flops = number(flags.window.substr(colon + 1));
    if (options.limits.low_flops * 2 > options.limits.high_flops) {
      throw InputError("--window: the upper end has to be twice the lower one at least");
    }
  }
  if (!flags.only.empty()) options.operators.clear();
  for (const std::string& name : flags.only) {
    const SynthOperator* op = find_synth_operator(name);
    if (!op) {
      std::string known;
      for (const SynthOperator& each : synth_operators()) known += " " + std::string(each.name);
      throw InputError("--only: there is no operator " + name + "; there are" + known);
    }
    options.operators.push_back(op);
  }
  return options;
}

// Rows that `file` holds already; what a killed run left of a last line is cut off. InputError
// where it holds anything else than the first rows of this run.
uint64_t rows_before(const fs::path& file, const SynthOptions& options, uint64_t count) {
  std::ifstream in(file);
  if (!in || !fs::is_regular_file(file)) return 0;
  const auto other = [&] {
    return InputError(file.string() +
                      ": holds other tasks than these flags give; choose another --out");
  };
  SynthCounts counts;
  std::string line, first, last;
  uint64_t rows = 0;
  uintmax_t bytes = 0;
  while (std::getline(in, line) && !in.eof()) {  // a last line without its end is not whole
    if (rows++ == 0) first = line;
    bytes += line.size() + 1;
    last = std::move(line);
  }
  if (rows > count) throw other();
  for (auto [row, text] : {std::pair{uint64_t{0}, &first}, std::pair{rows - 1, &last}}) {
    if (rows > 0 && *text != synth_row(synthesise(options, row, counts), options, row))
      throw other();
  }
  if (rows == 0 && fs::file_size(file) > 0 && !line.starts_with("{")) throw other();
  fs::resize_file(file, bytes);
  return rows;
}

// `drawing`: seconds of each program, before it is written.
void report(uint64_t done, uint64_t before, double seconds, const SynthCounts& counts,
            std::vector<double> drawing) {
  std::printf("%llu programs (%llu were there), %.0f/s\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(before),
              seconds > 0 ? static_cast<double>(done - before) / seconds : 0.0);
  if (drawing.empty()) return;
  std::sort(drawing.begin(), drawing.end());
  const double all = std::accumulate(drawing.begin(), drawing.end(), 0.0);
  std::printf("drawing alone: %.0f/s, median %.0f us, 99th percentile %.0f us\n",
              static_cast<double>(drawing.size()) / all, 1e6 * drawing[drawing.size() / 2],
              1e6 * drawing[drawing.size() * 99 / 100]);
  std::printf(
      "words drawn %lld, %lld without ranks that fit; skeletons %lld, %lld without sizes "
      "(proved)\n",
      static_cast<long long>(counts.words), static_cast<long long>(counts.words_without_ranks),
      static_cast<long long>(counts.skeletons),
      static_cast<long long>(counts.contradictions + counts.empty));
  std::printf("given up without proof: %lld\n",
              static_cast<long long>(counts.unsolved + counts.timed_out + counts.words_given_up));
}

int run(const Flags& flags) {
  const SynthOptions options = options_of(flags);
  const fs::path file = flags.out;
  const uint64_t before = rows_before(file, options, flags.count);
  SynthCounts counts;
  const Clock::time_point start = Clock::now();
  std::vector<double> drawing;
  const auto row = [&](uint64_t index) {
    const Clock::time_point begin = Clock::now();
    const SynthProgram program = synthesise(options, index, counts);
    drawing.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    return synth_row(program, options, index);
  };
  // What cannot be drawn is said before a file is there.
  const std::string next = before < flags.count ? row(before) : "";
  std::ofstream out(file, std::ios::app);
  if (!out) throw EnvironmentError("cannot write " + flags.out);
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  double shown = 0;
  for (uint64_t index = before; index < flags.count; ++index) {
    out << (index == before ? next : row(index)) << '\n';
    if (!out) throw EnvironmentError("cannot write " + flags.out + ": is the disk full?");
    if (seconds() - shown > 2) {
      shown = seconds();
      std::fprintf(stderr, "%llu of %llu\n", static_cast<unsigned long long>(index + 1),
                   static_cast<unsigned long long>(flags.count));
    }
  }
  if (!out.flush()) throw EnvironmentError("cannot write " + flags.out + ": is the disk full?");
  report(flags.count, before, seconds(), counts, std::move(drawing));
  return 0;
}

}  // namespace

Command add_synth(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.description(
      "Draw PyTorch programs to write kernels for (docs/synthesis.md): operators, what reads "
      "what,\n"
      "and sizes, each uniformly over what is possible. One JSON object a line, with the program "
      "as\n"
      "a model file and as one function. The same flags give the same bytes; a run that was\n"
      "killed goes on where it was.\n\n"
      "  kernelwright synth --level 5 --count 1000 --out tasks.jsonl\n"
      "  kernelwright synth --level 2 --window 2^24:2^28 --out small.jsonl     for training");
  app.add_option("--level", flags->level, "operators of each program")
      ->check(CLI::Range(1, 40))
      ->capture_default_str();
  app.add_option("--count", flags->count, "programs")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--seed", flags->seed, "other programs")->capture_default_str();
  app.add_option("--dtype", flags->dtype, "of all tensors: float32, float16 or bfloat16")
      ->check(CLI::IsMember({"float32", "float16", "bfloat16"}))
      ->capture_default_str();
  app.add_option("--window", flags->window,
                 "floating-point operations of a program, LOW:HIGH (default: 2^34:2^35); LOW is "
                 "lowered to a quarter of what a program can reach");
  app.add_option("--only", flags->only, "operators to draw from, separated by commas")
      ->delimiter(',');
  app.add_option("--out", flags->out, "the file to write")->required();
  return [flags] { return run(*flags); };
}

}  // namespace kw
