// When a request is made again. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace kw {

// Too many requests, a server's fault, a timeout or no answer at all (0) may pass; others will not.
bool may_pass(int status);
// Seconds to wait before retry `retry` (from 0): 1, 2, 4, ... up to 60, of which `draw` in [0, 1]
// takes off at most a half so that many that failed together do not come back together; but not
// before the endpoint's own `retry_after`.
double retry_seconds(int retry, double draw, const std::optional<double>& retry_after);

}  // namespace kw
