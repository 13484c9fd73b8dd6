#include "executor/arithmetic/tf32.h"

#include "executor/aten/seeds.h"

namespace kw::exec {

namespace {

// The 13 bits of float32's mantissa that TF32 does not have.
constexpr int64_t kLost = (1 << 13) - 1;

// Draws numbers between a quarter and three quarters of the unit of the lost bits, from a separate
// generator. Errors are then 1.12 times those of rounding to the nearest. If all numbers were
// drawn, they would be 1.41 times, and weights in bfloat16 would hide within four times that.
at::Tensor drawn_like(const at::Tensor& bits, int32_t seed) {
  constexpr int64_t kUnit = kLost + 1;
  return at::randint(kUnit / 4, 3 * kUnit / 4, bits.sizes(),
                     separate_generator(bits.device(), static_cast<uint64_t>(seed)),
                     bits.options());
}

}  // namespace

at::Tensor rounded_to_tf32(const at::Tensor& tensor, int32_t dither) {
  if (tensor.scalar_type() != at::kFloat) return tensor;
  // A part of their unit is added to the magnitude, and then the lost bits are cleared.
  const at::Tensor bits = tensor.view(at::kInt);
  at::Tensor raised = dither == 0 ? bits.add((kLost + 1) / 2) : bits.add(drawn_like(bits, dither));
  const at::Tensor rounded = raised.bitwise_and_(~kLost).view(at::kFloat);
  return at::where(rounded.isfinite(), rounded, tensor);
}

}  // namespace kw::exec
