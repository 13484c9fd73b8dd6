#include "train/tools/live_view.h"

namespace kw::train {
namespace {

constexpr std::chrono::milliseconds kPause{100};

}  // namespace

LiveView::LiveView(std::FILE* out, bool terminal, std::string name)
    : out_(out), terminal_(terminal), name_(std::move(name)) {}

LiveView::~LiveView() { erase(); }

// Clears the live lines and leaves the cursor at the first of them.
void LiveView::erase() {
  for (; drawn_ > 0; --drawn_) std::fputs("\033[1A\033[2K", out_);
  std::fflush(out_);
}

void LiveView::line(const std::string& text) {
  erase();
  std::fprintf(out_, "%s: %s\n", name_.c_str(), text.c_str());
  std::fflush(out_);
  last_ = {};
}

// Turns line wrap off: a line that is too long would take two, and erase() would miss one.
void LiveView::live(const std::vector<std::string>& lines) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (drawn_ > 0 && now - last_ < kPause)) return;
  erase();
  std::fputs("\033[?7l", out_);
  for (const std::string& each : lines) std::fprintf(out_, "%s\n", each.c_str());
  std::fputs("\033[?7h", out_);
  drawn_ = lines.size();
  std::fflush(out_);
  last_ = now;
}

}  // namespace kw::train
