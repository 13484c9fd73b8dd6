#include "search/cover_ranking.h"

#include <algorithm>

#include "verify/verdict/statistics.h"

namespace kw {

std::vector<RankedCover> rank_covers(const TimeReport& times,
                                     const std::vector<double>& host_seconds) {
  std::vector<RankedCover> out;
  for (size_t i = 0; i < host_seconds.size(); ++i) {
    out.push_back(
        {i, times.ok() ? std::max(1e-3 * median(times.device_ms.at(i + 1)), host_seconds[i]) : 0});
  }
  std::stable_sort(out.begin(), out.end(), [](const RankedCover& a, const RankedCover& b) {
    return a.seconds < b.seconds;
  });
  return out;
}

std::string finalist_reason(const std::string& not_taken, const std::string& untimed) {
  if (untimed.empty()) return not_taken;
  const std::string unknown = "the covers could not be timed: " + untimed;
  return not_taken.empty() ? unknown : not_taken + "; " + unknown;
}

}  // namespace kw
