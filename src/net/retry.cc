#include "net/retry.h"

#include <algorithm>
#include <cmath>

namespace kw {

bool may_pass(int status) {
  return status == 0 || status == 408 || status == 409 || status == 425 || status == 429 ||
         status >= 500;
}

double retry_seconds(int retry, double draw, const std::optional<double>& retry_after) {
  const double whole = std::min(60.0, std::exp2(std::clamp(retry, 0, 10)));
  return std::max(retry_after.value_or(0), whole * (1 - 0.5 * std::clamp(draw, 0.0, 1.0)));
}

}  // namespace kw
