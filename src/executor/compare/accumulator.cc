#include "executor/compare/accumulator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

namespace kw::exec {
namespace {

constexpr int64_t kStretch = int64_t{1} << 16;

at::Tensor normal_numbers(int64_t count, at::Device device) {
  static const at::Tensor stretch =
      at::randn({kStretch}, at::make_generator<at::CPUGeneratorImpl>(1), at::kFloat);
  return stretch.to(device).repeat({(count + kStretch - 1) / kStretch}).narrow(0, 0, count);
}

}  // namespace

double accumulator_error(double terms) { return kErrorPerRootTerm * std::sqrt(terms); }

at::Tensor added_one_by_one(const at::Tensor& sum, const at::Tensor& squares,
                            const at::Tensor& terms) {
  constexpr double kEqual = 1 - 0x1p-16, kPerTerm = 4 / (3 * 1.7320508) * 0x1p-25;
  const at::Tensor scale = at::maximum(sum.abs(), squares.sqrt());
  const at::Tensor equal = sum.square().ge(squares * terms * kEqual);
  const at::Tensor usual = terms.clamp_max(kMostInARow).sqrt() * kErrorPerRootTerm;
  const at::Tensor error = at::where(equal, terms * kPerTerm, usual);
  return sum + scale * error * normal_numbers(sum.numel(), sum.device()).view(sum.sizes());
}

at::Tensor summed_by_one_accumulator(const at::Tensor& product, const at::Tensor& squares,
                                     double terms) {
  const at::Tensor scale = at::maximum(product.abs(), squares.sqrt());
  const at::Tensor noise = normal_numbers(product.numel(), product.device()).view(product.sizes());
  return product + scale * noise * accumulator_error(terms);
}

}  // namespace kw::exec
