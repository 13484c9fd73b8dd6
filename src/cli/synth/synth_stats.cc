#include "cli/synth/synth_stats.h"

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/output.h"
#include "report/html.h"
#include "report/synth/synth_coverage.h"
#include "report/synth/synth_page.h"
#include "report/synth/synth_summary.h"

namespace kw {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBetweenLines{2};

// A line at a time: files are of any length.
SynthCoverage read_coverage(const std::string& tasks) {
  LineReader lines(tasks);
  const auto all = static_cast<double>(fs::file_size(tasks));
  SynthCoverage coverage;
  double bytes = 0;
  Clock::time_point shown = Clock::now();
  for (std::string line; lines.next(line);) {
    const Json json = parse_json(line, lines.place());
    coverage.add(JsonReader(json, lines.place()));
    bytes += static_cast<double>(line.size() + 1);
    if (Clock::now() - shown < kBetweenLines) continue;
    shown = Clock::now();
    std::fprintf(stderr, "%lld tasks, %.0f %% of the file\n",
                 static_cast<long long>(coverage.programs), 100 * bytes / all);
  }
  if (coverage.programs == 0) throw InputError(tasks + ": has no tasks");
  return coverage;
}

}  // namespace

int synth_stats(const std::string& tasks, const std::string& page) {
  if (!page.empty()) check_out_file(page, kPageFile);
  const SynthCoverage coverage = read_coverage(tasks);
  std::fputs(summary_text(coverage).c_str(), stdout);
  if (page.empty()) return 0;
  write_file(page, synth_page(coverage, fs::path(tasks).filename().string()), kPageFile);
  std::printf("%s\n", page.c_str());
  return 0;
}

}  // namespace kw
