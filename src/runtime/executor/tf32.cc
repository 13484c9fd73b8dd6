#include "runtime/executor/tf32.h"

namespace kw {

namespace {

// The 13 bits of float32's mantissa that TF32 has not.
constexpr int64_t kLost = (1 << 13) - 1;

// Numbers up to kLost, from a generator of their own.
at::Tensor drawn_like(const at::Tensor& bits, int32_t seed) {
  at::Generator generator = at::globalContext().defaultGenerator(bits.device()).clone();
  generator.set_current_seed(static_cast<uint64_t>(seed));
  return at::randint(0, kLost + 1, bits.sizes(), generator, bits.options());
}

}  // namespace

at::Tensor rounded_to_tf32(const at::Tensor& tensor, int32_t dither) {
  if (tensor.scalar_type() != at::kFloat) return tensor;
  // A part of their unit is added to the magnitude, then they go.
  const at::Tensor bits = tensor.view(at::kInt);
  const at::Tensor raised =
      dither == 0 ? bits.add((kLost + 1) / 2) : bits.add(drawn_like(bits, dither));
  const at::Tensor rounded = raised.bitwise_and(~kLost).view(at::kFloat);
  return at::where(rounded.isfinite(), rounded, tensor);
}

}  // namespace kw
