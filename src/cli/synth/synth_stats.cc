#include "cli/synth/synth_stats.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "formats/base/error.h"
#include "report/synth/synth_coverage.h"
#include "report/synth/synth_page.h"
#include "report/synth/synth_summary.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenLines{2};

// Hours of drawing may stand in a file that is named by mistake.
void check_is_page(const std::string& page) {
  if (fs::is_directory(page)) throw InputError(page + ": is a folder");
  if (!fs::is_regular_file(page) || fs::file_size(page) == 0) return;
  std::ifstream in(page);
  std::string line;
  std::getline(in, line);
  if (!line.starts_with("<!DOCTYPE html")) {
    throw InputError(page + ": is there, and is no page; choose another --out");
  }
}

// A line at a time: files are of any length.
SynthCoverage read_coverage(const std::string& tasks) {
  if (fs::is_directory(tasks)) throw InputError(tasks + ": is a folder");
  std::ifstream in(tasks, std::ios::binary);
  if (!in) throw InputError(tasks + ": cannot be read (does it exist?)");
  const double all = fs::is_regular_file(tasks) ? static_cast<double>(fs::file_size(tasks)) : 0;
  SynthCoverage coverage;
  double bytes = 0;
  Clock::time_point shown = Clock::now();
  for (std::string line; std::getline(in, line);) {
    const std::string place = tasks + ":" + std::to_string(coverage.programs + 1);
    const Json json = parse_json(line, place);
    coverage.add(JsonReader(json, place));
    bytes += static_cast<double>(line.size() + 1);
    if (Clock::now() - shown < kBetweenLines) continue;
    shown = Clock::now();
    std::fprintf(stderr, "%lld tasks", static_cast<long long>(coverage.programs));
    if (all > 0) std::fprintf(stderr, ", %.0f %% of the file", 100 * bytes / all);
    std::fprintf(stderr, "\n");
  }
  if (in.bad()) throw EnvironmentError("cannot read " + tasks);
  if (coverage.programs == 0) throw InputError(tasks + ": has no tasks");
  return coverage;
}

void write_page(const SynthCoverage& coverage, const std::string& tasks, const std::string& page) {
  std::ofstream out(page, std::ios::binary);
  if (!out) throw InputError(page + ": cannot be written (does its folder exist?)");
  out << synth_page(coverage, fs::path(tasks).filename().string());
  if (!out.flush()) throw EnvironmentError("cannot write " + page + ": is the disk full?");
}

}  // namespace

int synth_stats(const std::string& tasks, const std::string& page) {
  if (!page.empty()) check_is_page(page);
  const SynthCoverage coverage = read_coverage(tasks);
  std::fputs(summary_text(coverage).c_str(), stdout);
  if (page.empty()) return 0;
  write_page(coverage, tasks, page);
  std::printf("%s\n", page.c_str());
  return 0;
}

}  // namespace kw
