// How a candidate is verified.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/protocol.h"
#include "verify/numerics/numerics.h"
#include "verify/verdict/checks.h"
#include "worker/jobs.h"

namespace kw {

class Sanitizer;

// torch.compile's version of a reference in one of its modes, timed beside a candidate.
struct CompiledBaseline {
  std::string name;  // in the verdict's evidence
  PackageRequest package;
};

inline std::chrono::milliseconds deadline_of(double seconds) {
  return std::chrono::milliseconds(std::llround(1e3 * seconds));
}

struct VerifyOptions {
  int trials = 0;           // fresh input sets, before the varied ones; 0: usual_trials()
  bool variations = true;   // scaled, sign-changed and non-default affine sets
  bool noop_checks = true;  // leave launches out and see that it matters
  Tolerance tolerance = Tolerance::kCalibrated;
  bool pure = false;  // no computing PyTorch operator may be left
  double minimum_share = 0.1;
  uint64_t seed = 0;  // of inputs and parameters; no candidate sees it
  bool time = false;  // needs the cuda backend
  int rounds = 50;
  double width = 0;  // of TimeRequest
  double timing_seconds = TimeRequest{}.max_seconds;
  std::string compiled_package;  // AOTInductor package of the reference, may be empty
  std::vector<CompiledBaseline> further_baselines;  // of other modes
  bool run_file = false;  // run the file of an accepted candidate, too (own_file/own_file.h)
  std::chrono::milliseconds file_deadline{60000};  // of each run of it
  Sanitizer* sanitizer = nullptr;                  // runs a share of what is accepted; null: none
  double sanitized_share = 1;
  double record_again = 0;  // share of a batch's accepted candidates whose export is recorded
  size_t most_configurations = kMostConfigurations;  // of an autotuned candidate that are timed
  CheckNames without;                                // checks that are left out: for selftest alone
  std::chrono::milliseconds record_deadline{60000};
  std::chrono::milliseconds compile_deadline{120000};
  std::chrono::milliseconds trial_deadline{300000};
};

// Sets how long to time for a reward: until times are known to 3 % of themselves. Timing that never
// gets so narrow ends earlier. Kernels of a few microseconds end after 30 rounds; 50 rounds narrow
// their interval from 1.34 to 1.24 % in the median (bench/intervals.py). Kernels of milliseconds on
// a device whose clock wanders end after 0.03 s. A width that the user asks for stays.
inline void time_for_rewards(VerifyOptions& options) {
  if (options.width <= 0) options.width = 0.03;
  options.rounds = std::min(options.rounds, 30);
  options.timing_seconds = 0.03;
}

}  // namespace kw
