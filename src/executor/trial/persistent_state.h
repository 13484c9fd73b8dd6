// Persistent state: what calls of a candidate leave in its own tensors.
//
// In use, a call finds what earlier calls left. Its answer must not depend on how many there were,
// or on their inputs. So a trial overwrites whatever a call leaves changed before the next call.
// What comes back to its earlier value, such as a semaphore or padding, is left alone. This is
// decided element by element over whole storages, so that a counter is found in scratch memory and
// padding stays. Works on the tensors' device and draws from the default generators. For one
// thread.
#pragma once

#include <vector>

#include "executor/aten/aten.h"

namespace kw::exec {

enum class Scramble {
  kBits,      // any bits of the dtype: NaN, infinities, numbers out of all range
  kLarge,     // numbers of 4000 to 1e9 (40 to 1e4 in 16 bits, 6 to 100 in 8)
  kNegative,  // the same below zero; unsigned integers are counted from the largest
  kSmall,     // whole numbers of 0 to 16
};

class PersistentState {
 public:
  explicit PersistentState(Scramble how) : how_(how) {}
  // Overwrites in `after`, tensor by tensor, the elements that differ from those in `before` the
  // call, or that differed in an earlier call.
  void scramble(const std::vector<at::Tensor>& before, const std::vector<at::Tensor>& after);

 private:
  Scramble how_;
  std::vector<at::Tensor> changed_;  // by tensor: one bool for each element of its storage
};

}  // namespace kw::exec
