// Covers in the order of their times as whole programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/protocol.h"

namespace kw {

struct RankedCover {
  size_t index = 0;    // of the cover
  double seconds = 0;  // of the whole program; 0 if it could not be timed
};

// Returns the covers 0 to `count` - 1, the fastest first. `times` has the reference's times first
// and then one program for each cover. If timing failed, the covers stay in the order they were
// found in.
std::vector<RankedCover> rank_covers(const TimeReport& times, size_t count);

// Returns the reason of a finalist: why it was not taken (empty if it was), and why no times were
// known (empty if they were).
std::string finalist_reason(const std::string& not_taken, const std::string& untimed);

}  // namespace kw
