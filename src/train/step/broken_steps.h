// Steps whose gradients are no numbers: the optimizer leaves them out, and a run that has nothing
// but these learns nothing.
#pragma once

#include <cmath>
#include <string>

#include "formats/base/error.h"

namespace kw {

class BrokenSteps {
 public:
  // `norm`: of a step's gradients. InputError after ten in a row that are no numbers, or where the
  // run's last step is one; it names the setting that may help.
  void take(double norm, bool is_last, const std::string& rate) {
    in_a_row_ = std::isfinite(norm) ? 0 : in_a_row_ + 1;
    if (in_a_row_ == 0 || (in_a_row_ < kMost && !is_last)) return;
    throw InputError("the gradients of the last " + std::to_string(in_a_row_) +
                     (in_a_row_ == 1 ? " step" : " steps") + " are no numbers: a lower " + rate +
                     " may help");
  }
  // The last step was one: the model is no better than before it.
  bool now() const { return in_a_row_ > 0; }

 private:
  static constexpr int kMost = 10;
  int in_a_row_ = 0;
};

}  // namespace kw
