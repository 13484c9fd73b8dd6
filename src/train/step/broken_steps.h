// Counts steps whose gradients are not finite. The optimizer skips such steps, so a run that has
// only these learns nothing.
#pragma once

#include <cmath>
#include <string>

#include "formats/base/error.h"

namespace kw::train {

class BrokenSteps {
 public:
  // Takes the norm of a step's gradients. Throws InputError after ten such steps in a row, or if
  // the run's last step is one; the message names the setting `rate`, which may help.
  void take(double norm, bool is_last, const std::string& rate) {
    in_a_row_ = std::isfinite(norm) ? 0 : in_a_row_ + 1;
    if (in_a_row_ == 0 || (in_a_row_ < kMost && !is_last)) return;
    throw InputError("the gradients of the last " + std::to_string(in_a_row_) +
                     (in_a_row_ == 1 ? " step" : " steps") + " are no numbers: a lower " + rate +
                     " may help");
  }
  // Returns whether the last step was one: the model is then no better than before it.
  bool now() const { return in_a_row_ > 0; }

 private:
  static constexpr int kMost = 10;
  int in_a_row_ = 0;
};

}  // namespace kw::train
