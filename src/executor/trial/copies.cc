#include "executor/trial/copies.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "executor/aten/guarded_memory.h"
#include "ops/operator.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

constexpr int64_t kFewest = 16;  // numbers that show a factor and an addend
constexpr int64_t kMostElements = 1 << 20;
constexpr double kNoAddend = 1e-2;  // of the RMS: smaller ones may be rounding
// Both sides of a copy are rounded, and so is the arithmetic between them.
constexpr double kUnits = 2;

// Returns elements of a tensor in their order: all, or a part of a large one. The step is odd, so
// that it does not fall in with rows and blocks.
at::Tensor elements_of(const at::Tensor& tensor) {
  const int64_t parts = (tensor.numel() + kMostElements - 1) / kMostElements;
  const int64_t step = std::max<int64_t>(1, parts) | 1;
  return tensor.reshape({-1}).slice(0, 0, std::nullopt, step);
}

// Returns whether y is x times a factor plus an addend, and sets these, by least squares.
bool is_scaled(const at::Tensor& x, const at::Tensor& y, double eps, LaunchCopy& how) {
  const at::Tensor apart = x - x.mean();
  const double spread = apart.square().sum().item<double>();
  if (spread == 0) return false;
  const double factor = apart.mul(y).sum().item<double>() / spread;
  const double addend = (y.mean() - x.mean() * factor).item<double>();
  const at::Tensor scaled = x.mul(factor).abs().maximum(y.abs());
  // For small elements, what the fit is off by counts most.
  const double fit = scaled.max().item<double>() / std::sqrt(static_cast<double>(x.numel()));
  const at::Tensor allowed = (scaled + fit) * (kUnits * eps);
  if (factor == 0 || !(x * factor + addend - y).abs().le(allowed).all().item<bool>()) return false;
  const double rms = y.square().mean().sqrt().item<double>();
  how.factor = factor;
  how.addend = std::abs(addend) < kNoAddend * rms ? 0 : addend;
  return true;
}

}  // namespace

CopyWatch::CopyWatch(const Task& candidate) {
  const Program& program = candidate.forward;
  Following computed(program, candidate.kernels);  // what PyTorch computed
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    const Step& step = program.steps[i];
    const std::vector<ValueId> reads = step_reads(step, candidate.kernels);
    const auto* call = std::get_if<AtenCall>(&step);
    std::vector<ValueId> sources;
    for (const ValueId id : std::set(reads.begin(), reads.end())) {
      if (computed.has(id) && is_floating(program.values[id].dtype)) sources.push_back(id);
    }
    const bool follows = computed.pass(step, call && does_arithmetic(*call));
    if (follows && !call) {
      watched_[i] = {std::move(sources), step_writes(step, candidate.kernels)};
    }
  }
}

void CopyWatch::before(int step, const std::vector<at::Tensor>& slots) {
  kept_.clear();
  const auto watched = watched_.find(step);
  if (watched == watched_.end()) return;
  for (const ValueId id : watched->second.sources) {
    kept_.push_back({id, slots[id].numel(), elements_of(slots[id]).clone()});
  }
}

void CopyWatch::after(int step, const std::vector<at::Tensor>& slots) {
  const auto watched = watched_.find(step);
  if (watched == watched_.end()) return;
  std::vector<LaunchCopy> copies;
  bool other = false;
  for (const ValueId written : watched->second.written) {
    bool shown = true;
    std::optional<LaunchCopy> copy;
    for (const Kept& kept : kept_) {
      LaunchCopy how{.step = step, .source = kept.source};
      const Shows shows = kept.numel == slots[written].numel()
                              ? compare_elements(kept.elements, elements_of(slots[written]), how)
                              : Shows::kOther;
      if (shows == Shows::kCopy && !copy) copy = how;
      if (shows == Shows::kNothing) shown = false;
    }
    if (copy) copies.push_back(*copy);
    if (!copy && shown) other = true;
  }
  kept_.clear();
  if (other) {
    found_.others.push_back(step);
  } else {
    found_.copies.insert(found_.copies.end(), copies.begin(), copies.end());
  }
}

Shows compare_elements(const at::Tensor& from, const at::Tensor& to, LaunchCopy& how) {
  if (from.numel() != to.numel() || !to.is_floating_point()) return Shows::kOther;
  if (to.numel() == 0) return Shows::kNothing;
  at::Tensor x = elements_of(from).to(at::kDouble), y = elements_of(to).to(at::kDouble);
  const bool finite = x.isfinite().all().item<bool>() && y.isfinite().all().item<bool>();
  if (!finite || y.eq(0).all().item<bool>()) return Shows::kNothing;
  x = std::get<0>(x.sort());
  y = std::get<0>(y.sort());
  if (at::equal(x, y)) return Shows::kCopy;
  const double eps =
      std::max(dtype_eps(dtype_of(to.scalar_type())), dtype_eps(dtype_of(from.scalar_type())));
  if (x.numel() < kFewest) return Shows::kOther;
  if (is_scaled(x, y, eps, how)) return Shows::kCopy;
  // A negative factor turns the order.
  return is_scaled(x.flip(0), y, eps, how) ? Shows::kCopy : Shows::kOther;
}

}  // namespace kw::exec
