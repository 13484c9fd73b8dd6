// Axes of a fragment's iteration space.
//
// Every dimension of every value is a list of axes, outermost first (none for a dimension of size
// 1). Operators that walk two dimensions together unify them. A view that takes a dimension apart
// splits its axis, everywhere at once. The leaves that are left in the end are the loops of the
// fragment. The table is a plain value: copy it to try a unification and throw the copy away.
#pragma once

#include <cstdint>
#include <vector>

namespace kw::teacher {

using AxisId = int;
using Axes = std::vector<AxisId>;

class AxisTable {
 public:
  AxisId fresh(int64_t size);
  int64_t size(AxisId axis) const { return entries_[axis].size; }
  int64_t size(const Axes& axes) const;
  bool is_leaf(AxisId axis) const { return entries_[axis].parts.empty(); }

  // Returns the leaves that make up `axis` or `axes`, outermost first.
  Axes leaves(AxisId axis) const;
  Axes leaves(const Axes& axes) const;

  // Splits a leaf into an outer part of `outer` iterations and an inner one. `outer` divides it.
  void split(AxisId leaf, int64_t outer);

  // Makes two ways of writing one dimension the same loops, splitting where one side is finer.
  // Returns false if the sizes cannot be brought together; the table is then of no further use.
  bool unify(const Axes& a, const Axes& b);

 private:
  struct Entry {
    int64_t size = 1;
    Axes parts;  // none: a leaf; one: the same loop as that axis; more: split
  };
  void append_leaves(AxisId axis, Axes& out) const;

  std::vector<Entry> entries_;
};

bool contains(const Axes& axes, AxisId axis);
bool all_distinct(const Axes& axes);
// Set operations on leaves; results are sorted.
Axes sorted(Axes axes);
Axes set_union(const Axes& a, const Axes& b);
Axes set_minus(const Axes& a, const Axes& b);
Axes set_intersection(const Axes& a, const Axes& b);

}  // namespace kw::teacher
