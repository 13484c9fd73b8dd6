#include "teacher/graph/axes.h"

#include <algorithm>
#include <iterator>

namespace kw::teacher {

AxisId AxisTable::fresh(int64_t size) {
  entries_.push_back({size, {}});
  return static_cast<AxisId>(entries_.size()) - 1;
}

int64_t AxisTable::size(const Axes& axes) const {
  int64_t out = 1;
  for (AxisId axis : axes) out *= size(axis);
  return out;
}

void AxisTable::append_leaves(AxisId axis, Axes& out) const {
  const Entry& entry = entries_[axis];
  if (entry.parts.empty()) {
    out.push_back(axis);
    return;
  }
  for (AxisId part : entry.parts) append_leaves(part, out);
}

Axes AxisTable::leaves(AxisId axis) const {
  Axes out;
  append_leaves(axis, out);
  return out;
}

Axes AxisTable::leaves(const Axes& axes) const {
  Axes out;
  for (AxisId axis : axes) append_leaves(axis, out);
  return out;
}

void AxisTable::split(AxisId leaf, int64_t outer) {
  const int64_t inner = size(leaf) / outer;
  const AxisId first = fresh(outer);
  const AxisId second = fresh(inner);
  entries_[leaf].parts = {first, second};
}

bool AxisTable::unify(const Axes& a, const Axes& b) {
  if (size(a) != size(b)) return false;
  // Innermost first. Leaves are looked up again after every change, as a split may reach both
  // sides.
  for (size_t done = 0;; ++done) {
    const Axes left = leaves(a), right = leaves(b);
    if (left.size() <= done || right.size() <= done) return left.size() == right.size();
    const AxisId x = left[left.size() - 1 - done], y = right[right.size() - 1 - done];
    if (x == y) continue;
    const int64_t nx = size(x), ny = size(y);
    if (nx == ny) {
      entries_[y].parts = {x};
    } else if (std::max(nx, ny) % std::min(nx, ny) != 0) {
      return false;
    } else {
      const AxisId large = nx > ny ? x : y;
      const AxisId small = nx > ny ? y : x;
      split(large, std::max(nx, ny) / std::min(nx, ny));
      entries_[small].parts = {entries_[large].parts[1]};
    }
    // A dimension that would hold one loop twice (a diagonal) never terminates: refuse it here.
    if (!all_distinct(leaves(a)) || !all_distinct(leaves(b))) return false;
  }
}

bool contains(const Axes& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Axes sorted(Axes axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

bool all_distinct(const Axes& axes) {
  const Axes order = sorted(axes);
  return std::adjacent_find(order.begin(), order.end()) == order.end();
}

Axes set_union(const Axes& a, const Axes& b) {
  Axes out;
  const Axes x = sorted(a), y = sorted(b);
  std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(out));
  return out;
}

Axes set_minus(const Axes& a, const Axes& b) {
  Axes out;
  const Axes x = sorted(a), y = sorted(b);
  std::set_difference(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(out));
  return out;
}

Axes set_intersection(const Axes& a, const Axes& b) {
  Axes out;
  const Axes x = sorted(a), y = sorted(b);
  std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(out));
  return out;
}

}  // namespace kw::teacher
