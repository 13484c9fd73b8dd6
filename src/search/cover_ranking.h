// Covers in the order of their times as whole programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/protocol.h"

namespace kw {

struct RankedCover {
  size_t index = 0;    // of the cover
  double seconds = 0;  // of a call: the device's or the host's; 0 if it could not be timed
};

// Returns the covers, the fastest first. `times` has the reference's times first and then one
// program for each cover; `host_seconds` has the host's for each cover (host_time.h). If timing
// failed, the covers stay in the order they were found in.
std::vector<RankedCover> rank_covers(const TimeReport& times,
                                     const std::vector<double>& host_seconds);

// Returns the reason of a finalist: why it was not taken (empty if it was), and why no times were
// known (empty if they were).
std::string finalist_reason(const std::string& not_taken, const std::string& untimed);

}  // namespace kw
