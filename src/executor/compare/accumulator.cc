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

at::Tensor summed_by_one_accumulator(const at::Tensor& product, const at::Tensor& squares,
                                     double terms) {
  const at::Tensor scale = at::maximum(product.abs(), squares.sqrt());
  const at::Tensor noise = normal_numbers(product.numel(), product.device()).view(product.sizes());
  return product + scale * noise * accumulator_error(terms);
}

}  // namespace kw::exec
