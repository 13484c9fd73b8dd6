// Progress on stderr: one redrawn line on a terminal, one line a phase elsewhere.
#pragma once

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

}  // namespace kw
