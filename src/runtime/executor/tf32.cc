#include "runtime/executor/tf32.h"

namespace kw {

at::Tensor rounded_to_tf32(const at::Tensor& tensor) {
  if (tensor.scalar_type() != at::kFloat) return tensor;
  // The 13 bits that TF32 has not: half of their unit is added to the magnitude, then they go.
  constexpr int64_t kHalf = 1 << 12, kKept = ~int64_t{(1 << 13) - 1};
  const at::Tensor bits = tensor.view(at::kInt);
  const at::Tensor rounded = bits.add(kHalf).bitwise_and(kKept).view(at::kFloat);
  return at::where(rounded.isfinite(), rounded, tensor);
}

}  // namespace kw
