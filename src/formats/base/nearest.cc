#include "formats/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kw {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t before = std::exchange(row[0], i);
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t exchanged = before + (a[i - 1] != b[k - 1]);
      before = row[k];
      row[k] = std::min({row[k] + 1, row[k - 1] + 1, exchanged});
    }
  }
  return row.back();
}

std::string nearest(std::string_view name, const std::vector<std::string>& known) {
  const auto found = std::ranges::min_element(
      known, {}, [&](const std::string& each) { return distance(each, name); });
  return found == known.end() ? "" : *found;
}

}  // namespace kw
