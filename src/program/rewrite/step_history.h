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
  bool writes(int step, int storage) const { return written_[step].contains(storage); }
  // The last step before `end` that writes to a storage; -1 if none does.
  int last_write(int storage, int end) const;
  // The step that makes a value; -1 for an input.
  int maker(ValueId value) const;
  const std::set<int>& written(int step) const { return written_[step]; }

  // Returns the steps before `end` (all steps) that the elements of `value` come from, in order.
  std::vector<int> steps_of(ValueId value, int end) const;
  std::vector<int> steps_of(ValueId value) const;
  // Leaves out the steps by which a known value became what it is. Returns nothing if the elements
  // come from a known storage as it was before its values were known.
  std::optional<std::vector<int>> steps_of(ValueId value, int end,
                                           const KnownStorages& known) const;
  // Returns the first random step that the elements of `value` come from; end() if there is none.
  int first_draw(ValueId value) const;
  // A text that is equal for values that equal steps made, with equal metadata. Empty if a kernel
  // made the value.
  std::string lineage(ValueId value, int end) const;

 private:
  const Program& program_;
  std::vector<std::set<int>> written_;  // by step: storages that it makes or changes
};

}  // namespace kw
