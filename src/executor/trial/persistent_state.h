// What calls of a candidate leave behind in tensors of its own.
//
// In use, a call finds what earlier calls left; how many there were, and on what inputs, is not for
// its answer to depend on. So whatever a call leaves changed may hold anything before the next one,
// and a trial overwrites it; what comes back to its earlier value (a semaphore, padding) is left
// alone. Element by element, over whole storages, so that a counter is found in scratch memory and
// padding stays. On the tensors' device; draws from the default generators. One thread.
#pragma once

#include <vector>

#include "executor/aten/aten.h"

namespace kw {

enum class Scramble {
  kBits,      // any bits of the dtype: NaN, infinities, numbers out of all range
  kLarge,     // numbers of 4000 to 1e9 (40 to 1e4 in 16 bits, 6 to 100 in 8)
  kNegative,  // the same below zero; of unsigned integers, counted from the largest
  kSmall,     // whole numbers of 0 to 16
};

class Leftovers {
 public:
  explicit Leftovers(Scramble how) : how_(how) {}
  // `before` and `after` a call, tensor by tensor: overwrites in `after` what differs, or differed
  // in an earlier call.
  void scramble(const std::vector<at::Tensor>& before, const std::vector<at::Tensor>& after);

 private:
  Scramble how_;
  std::vector<at::Tensor> changed_;  // by tensor: one bool for each element of its storage
};

}  // namespace kw
