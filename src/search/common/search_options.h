// The options of a search, and how it reports its progress.
#pragma once

#include <functional>
#include <string>

#include "verify/verifier.h"

namespace kw {

struct OptimizeOptions {
  bool measure = false;        // times are measured, not modelled
  double budget_seconds = 60;  // for the search, without the confirmation of its result
  int proposals = 2;           // schedules tried for a fragment if times are measured; a fragment
                               // that takes much of the time gets more
  int max_steps = 24;          // operators in a fragment
  std::string form;            // title of the only form to search; empty: all that are worth it
  // Options of the final confirmation. With `pure` no cover leaves PyTorch steps that compute, and
  // the result is kept even if it is slower than PyTorch.
  VerifyOptions verify;
  std::function<std::string(const Reference&)> compile_baseline;  // builds verify.compiled_package
  std::function<CallTimes(const std::string&)>
      time_calls;  // of an optimized.py, as Python makes them
};

// How far a search is, for a progress display: `done` of `total` fragments are evaluated, and
// `best` is the estimated speedup of the best cover so far.
struct Progress {
  std::string phase;  // "recording", "searching", "confirming", ...
  std::string detail;
  int done = 0, total = 0;
  double best = 1;
};
using ProgressSink = std::function<void(const Progress&)>;

}  // namespace kw
