// Lines for people on stderr. On a terminal some lines at the end say what is true now, and are
// drawn anew as it changes, at most ten times a second; elsewhere there are only the lines that
// stay. One thread.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace kw {

class LiveView {
 public:
  // `out` is borrowed. Each line that stays begins with `name`.
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

}  // namespace kw
