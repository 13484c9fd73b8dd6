#include "train/step/packing.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "formats/base/error.h"

namespace kw::train {

std::vector<std::vector<size_t>> pack(const std::vector<size_t>& lengths, size_t capacity) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<size_t>> rows;
  std::set<std::pair<size_t, size_t>> room;  // the room left in a row, its number
  for (const size_t i : order) {
    if (lengths[i] > capacity) {
      throw InputError("a text of " + std::to_string(lengths[i]) + " tokens, in rows of " +
                       std::to_string(capacity));
    }
    auto found = room.lower_bound({lengths[i], 0});
    if (found == room.end()) {
      found = room.emplace(capacity, rows.size()).first;
      rows.emplace_back();
    }
    const auto [left, row] = *found;
    room.erase(found);
    room.emplace(left - lengths[i], row);
    rows[row].push_back(i);
  }
  return rows;
}

}  // namespace kw::train
