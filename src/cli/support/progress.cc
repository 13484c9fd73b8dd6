#include "cli/support/progress.h"

#include <unistd.h>

#include <cstdio>

namespace kw {

ProgressLine::ProgressLine() : terminal_(::isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputc('\n', stderr);
}

void ProgressLine::show(const Progress& p) {
  if (!terminal_) {
    if (p.phase != last_phase_) {
      std::fprintf(stderr, "%s: %s\n", p.phase.c_str(), p.detail.c_str());
    }
    last_phase_ = p.phase;
    return;
  }
  char count[64] = "";
  if (p.total > 0) std::snprintf(count, sizeof(count), "%d of %d  ", p.done, p.total);
  char best[64] = "";
  if (p.best > 1.005) std::snprintf(best, sizeof(best), "best so far %.2fx  ", p.best);
  std::fprintf(stderr, "\r\033[K%-10s %s%s%.60s", p.phase.c_str(), count, best, p.detail.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

PacedLine::PacedLine() : terminal_(::isatty(STDERR_FILENO)) {}

PacedLine::~PacedLine() {
  if (terminal_ && drawn_) std::fputc('\n', stderr);
}

bool PacedLine::is_due(bool last) const {
  const std::chrono::duration<double> pause(terminal_ ? 0.1 : 10);
  return last || !drawn_ || Clock::now() - shown_ >= pause;
}

void PacedLine::show(const std::string& text) {
  shown_ = Clock::now();
  drawn_ = true;
  std::fprintf(stderr, "%s%s%s", terminal_ ? "\r\033[K" : "", text.c_str(), terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace kw
