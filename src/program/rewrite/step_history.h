// What a Program's steps made of each tensor: which of them a tensor's elements come from, and
// whether two tensors of different Programs were made in the same way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

// Returns the storages that steps of a program change.
std::set<int> written_storages(const Program& program, const std::vector<Kernel>& kernels);

// Values of one storage whose elements are known once step `since` has written them.
struct KnownValues {
  std::set<ValueId> values;
  int since = -1;
};
using KnownStorages = std::map<int, KnownValues>;  // by storage

// Borrows the Program.
class StepHistory {
 public:
  StepHistory(const Program& program, const std::vector<Kernel>& kernels);

  int end() const { return static_cast<int>(program_.steps.size()); }
  bool is_random(int step) const;
  bool writes(int step, int storage) const { return written_[step].contains(storage); }
  // The last step before `end` that writes to a storage; -1 if none does.
  int last_write(int storage, int end) const;
  const std::set<int>& written(int step) const { return written_[step]; }

  // Returns the steps before `end` that the elements of `value` come from, in order. Steps that
  // made a known value what it is are left out. Returns nothing if the elements come from a known
  // storage as it was before its value was known.
  std::optional<std::vector<int>> behind(ValueId value, int end,
                                         const KnownStorages& known = {}) const;
  // All steps that the elements of `value` come from.
  std::vector<int> steps_of(ValueId value) const { return *behind(value, end()); }
  // The first random step among those behind a value; end() if there is none.
  int first_draw(ValueId value, int end) const;
  // A text that is equal for values that equal steps made, with equal metadata. Empty if a kernel
  // made the value.
  std::string lineage(ValueId value, int end) const;

 private:
  const Program& program_;
  std::vector<std::set<int>> written_;  // by step: storages that it makes or changes
};

}  // namespace kw
