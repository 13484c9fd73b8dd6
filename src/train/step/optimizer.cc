#include "train/step/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kw::train {

double Schedule::at(int64_t step) const {
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= steps) return last;
  const double share = static_cast<double>(step - warmup) /
                       static_cast<double>(std::max<int64_t>(1, steps - warmup));
  return last + (rate - last) * 0.5 * (1 + std::cos(std::numbers::pi * share));
}

void move_gradient(const at::Tensor& parameter, double scale, at::Tensor& sum) {
  at::Tensor& grad = parameter.mutable_grad();
  if (!grad.defined()) return;
  sum.add_(grad.to(sum.device(), /*non_blocking=*/true), scale);
  grad.reset();
}

}  // namespace kw::train
