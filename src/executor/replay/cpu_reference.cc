#include "executor/replay/cpu_reference.h"

#include <algorithm>

#include "executor/aten/seeds.h"
#include "formats/base/error.h"

namespace kw::exec {
namespace {

// Returns whether two tensors hold the same, NaN where the other has NaN.
bool holds_same(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  return a.eq(b).logical_or_(a.ne(a).logical_and_(b.ne(b))).all().item<bool>();
}

bool is_finite(const at::Tensor& tensor) { return tensor.isfinite().all().item<bool>(); }

}  // namespace

std::vector<at::Tensor> copies_on_cpu(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  for (const at::Tensor& tensor : tensors)
    out.push_back(tensor.to(at::kCPU, tensor.scalar_type(), false, true));
  return out;
}

CpuReference::Taken CpuReference::takes(const std::vector<at::Tensor>& all, uint64_t seed) {
  if (!forward_) {
    forward_ = std::make_unique<Replay>(task_.forward, task_.kernels, nullptr, at::kCPU);
  }
  std::vector<at::Tensor> first;
  for (const Unwritten fill : {Unwritten::kPoison, Unwritten::kNumbers}) {
    std::vector<at::Tensor> own = copies_on_cpu(all);
    seed_generators(derive_seed(seed, Purpose::kForward));
    std::vector<at::Tensor> outputs;
    try {
      outputs = forward_->run(std::move(own), ReplayOptions(fill));
    } catch (const ReplayError&) {
      return Taken::kNo;
    }
    if (first.empty()) {
      first = std::move(outputs);
    } else if (!std::ranges::equal(first, outputs, holds_same)) {
      return Taken::kNo;
    }
  }
  return std::ranges::all_of(first, is_finite) ? Taken::kFinite : Taken::kNotFinite;
}

}  // namespace kw::exec
