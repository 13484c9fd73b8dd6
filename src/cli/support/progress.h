// Progress on stderr: on a terminal one line that is drawn again; elsewhere one a phase, or one
// every ten seconds.
#pragma once

#include <chrono>
#include <string>

#include "search/optimize.h"

namespace kw {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  // ends the line
  void show(const Progress& progress);

 private:
  bool terminal_;
  bool drawn_ = false;
  std::string last_phase_;
};

// Of long work that is counted. Asked of each item, it is due for few of them,
// and for the last one.
class PacedLine {
 public:
  PacedLine();
  ~PacedLine();  // ends the line
  // False: it is not yet time to.
  bool is_due(bool last) const;
  void show(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point shown_;
};

}  // namespace kw
