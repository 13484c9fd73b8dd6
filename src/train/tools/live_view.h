// Lines for people on stderr. On a terminal the last lines show the present state, and are redrawn
// at most ten times a second. Elsewhere only the lines that stay are written. One thread.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace kw::train {

class LiveView {
 public:
  // Borrows `out`. Each line that stays begins with `name`.
  LiveView(std::FILE* out, bool terminal, std::string name);
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  void line(const std::string& text);
  void live(const std::vector<std::string>& lines);
  bool is_terminal() const { return terminal_; }

 private:
  void erase();

  std::FILE* const out_;
  const bool terminal_;
  const std::string name_;
  size_t drawn_ = 0;  // live lines
  std::chrono::steady_clock::time_point last_;
};

}  // namespace kw::train
