// Finds launches of a candidate that only copy what PyTorch computed before: in any order, times a
// factor, plus an addend. PyTorch did the work there, however small the price of its operators is.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "executor/replay/replay.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw::exec {

// Looks at the launches of one run. Only launches whose operands come from what PyTorch computes
// are looked at, so most programs are not slowed down.
class CopyWatch : public LaunchWatch {
 public:
  explicit CopyWatch(const Task& candidate);

  void before(int step, const std::vector<at::Tensor>& slots) override;
  void after(int step, const std::vector<at::Tensor>& slots) override;
  const LaunchCopies& found() const { return found_; }

 private:
  struct Watched {
    std::vector<ValueId> sources, written;
  };
  struct Kept {
    ValueId source = 0;
    int64_t numel = 0;
    at::Tensor elements;  // of a large source a part
  };
  std::map<int, Watched> watched_;  // by step of forward
  std::vector<Kept> kept_;          // sources of the step that runs
  LaunchCopies found_;
};

enum class Shows { kCopy, kNothing, kOther };
// Returns whether `to` has the elements of `from`, each once, and sets the factor and addend that
// they have in common. Zeros and NaN show nothing. Fewer than 16 numbers, and equal ones, show
// copies without a factor alone. Of
// more than 2^20 elements a part is compared, which shows copies in their order alone.
Shows compare_elements(const at::Tensor& from, const at::Tensor& to, LaunchCopy& how);

}  // namespace kw::exec
