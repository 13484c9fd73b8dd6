#include "report/markup/line_diff.h"

#include <algorithm>
#include <cstdint>

namespace kw {
namespace {

constexpr size_t kMostPairs = 4'000'000;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace

std::vector<DiffLine> line_diff(std::string_view before, std::string_view after) {
  using Kind = DiffLine::Kind;
  const std::vector<std::string_view> a = lines_of(before), b = lines_of(after);
  size_t first = 0, last_a = a.size(), last_b = b.size();
  while (first < last_a && first < last_b && a[first] == b[first]) ++first;
  while (last_a > first && last_b > first && a[last_a - 1] == b[last_b - 1]) --last_a, --last_b;
  std::vector<DiffLine> out;
  for (size_t i = 0; i < first; ++i) out.push_back({Kind::kSame, a[i]});
  // common[i][j]: the longest common subsequence of a[first+i..last_a) and b[first+j..last_b).
  const size_t rows = last_a - first, columns = last_b - first;
  const bool aligned = rows * columns <= kMostPairs;
  std::vector<uint32_t> common(aligned ? (rows + 1) * (columns + 1) : 0);
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return common[i * (columns + 1) + j]; };
  for (size_t i = rows; aligned && i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      at(i, j) = a[first + i] == b[first + j] ? at(i + 1, j + 1) + 1
                                              : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  size_t i = 0, j = 0;
  while (i < rows || j < columns) {
    if (aligned && i < rows && j < columns && a[first + i] == b[first + j]) {
      out.push_back({Kind::kSame, a[first + i++]});
      ++j;
    } else if (i < rows && (!aligned || j == columns || at(i + 1, j) >= at(i, j + 1))) {
      out.push_back({Kind::kRemoved, a[first + i++]});
    } else {
      out.push_back({Kind::kAdded, b[first + j++]});
    }
  }
  for (size_t k = last_a; k < a.size(); ++k) out.push_back({Kind::kSame, a[k]});
  return out;
}

}  // namespace kw
