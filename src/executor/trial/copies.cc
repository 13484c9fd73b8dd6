#include "executor/trial/copies.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "executor/aten/guarded_memory.h"
#include "ops/operator.h"
#include "program/cost.h"
#include "program/makers.h"

namespace kw::exec {
namespace {

constexpr int64_t kFewest = 16;           // numbers that show a factor and an addend
constexpr int64_t kMostSorted = 1 << 20;  // elements
constexpr int64_t kMostKept = 1ll << 30;  // bytes
constexpr double kNoAddend = 1e-2;        // of the RMS: smaller ones may be rounding
// Both sides of a copy are rounded, and so is the arithmetic between them.
constexpr double kUnits = 2;

bool computes(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  if (!row) return true;
  const OpClass cls = work_row(*row).cls;
  return is_computing(cls) && cls != OpClass::kCopy && !fills_memory(call);
}

at::Tensor as_numbers(const at::Tensor& tensor) {
  return tensor.contiguous().reshape({-1}).to(at::kDouble);
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
  std::set<int> computed;  // storages of what PyTorch computed, or what was made of it
  const auto is_computed = [&](ValueId id) {
    return computed.contains(program.values[id].storage);
  };
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    const Step& step = program.steps[i];
    const std::vector<ValueId> reads = step_reads(step, candidate.kernels);
    const auto* call = std::get_if<AtenCall>(&step);
    if (!std::ranges::any_of(reads, is_computed) && !(call && computes(*call))) continue;
    const std::vector<ValueId> writes = step_writes(step, candidate.kernels);
    if (!call) {
      Watched watched;
      for (const ValueId id : std::set(reads.begin(), reads.end())) {
        if (is_computed(id) && is_floating(program.values[id].dtype)) watched.sources.push_back(id);
      }
      watched.written = writes;
      watched_[i] = std::move(watched);
    }
    for (const ValueId id : writes) computed.insert(program.values[id].storage);
    for (const ValueId id : step_defines(step)) {
      if (id >= 0) computed.insert(program.values[id].storage);
    }
  }
}

void CopyWatch::before(int step, const std::vector<at::Tensor>& slots) {
  kept_.clear();
  const auto watched = watched_.find(step);
  if (watched == watched_.end()) return;
  int64_t bytes = 0;
  for (const ValueId id : watched->second.sources) {
    bytes += static_cast<int64_t>(slots[id].nbytes());
    if (bytes <= kMostKept) kept_.emplace_back(id, slots[id].clone());
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
    for (const auto& [source, kept] : kept_) {
      LaunchCopy how{.step = step, .source = source};
      const Shows shows = compare_elements(kept, slots[written], how);
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
  at::Tensor x = as_numbers(from), y = as_numbers(to);
  const bool finite = x.isfinite().all().item<bool>() && y.isfinite().all().item<bool>();
  if (!finite || y.eq(0).all().item<bool>()) return Shows::kNothing;
  const bool sorted = x.numel() <= kMostSorted;
  if (sorted) {
    x = std::get<0>(x.sort());
    y = std::get<0>(y.sort());
  }
  if (at::equal(x, y)) return Shows::kCopy;
  const double eps =
      std::max(dtype_eps(dtype_of(to.scalar_type())), dtype_eps(dtype_of(from.scalar_type())));
  if (x.numel() < kFewest) return Shows::kOther;
  if (is_scaled(x, y, eps, how)) return Shows::kCopy;
  // A negative factor turns the order.
  return sorted && is_scaled(x.flip(0), y, eps, how) ? Shows::kCopy : Shows::kOther;
}

}  // namespace kw::exec
