#include "executor/compare/errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "executor/aten/guarded_memory.h"
#include "executor/compare/compare.h"
#include "executor/compare/cross_sections.h"
#include "executor/compare/scales.h"

namespace kw::exec {
namespace {

constexpr int64_t kSlice = int64_t{1} << 22;

// Calls visit(begin, end) over [0, count) in slices.
template <class Visit>
void for_slices(int64_t count, const Visit& visit) {
  for (int64_t begin = 0; begin < count; begin += kSlice) {
    visit(begin, std::min(count, begin + kSlice));
  }
}

at::Tensor slice_of(const at::Tensor& flat, int64_t begin, int64_t end, at::Device device) {
  return flat.slice(0, begin, end).to(device);
}

double ratio(double error, double scale) { return scale > 0 ? error / scale : error; }

ErrorSums errors_of(const Comparison& compared, int64_t elements) {
  const auto mean = [](double sum, int64_t count) {
    return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
  };
  ErrorSums out;
  out.oracle_rms = mean(compared.oracle_sum, compared.oracles);
  out.oracle_max = compared.oracle_max;
  out.rms = ratio(mean(compared.error_sum, compared.both), out.oracle_rms);
  out.worst = ratio(compared.error_max, out.oracle_rms);
  out.finite_in_both = compared.both;
  out.finite_oracle = compared.oracles;
  out.finite = compared.sound == elements;
  return out;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + "]";
}

void take_section(const SectionError& section, OutputErrors& errors) {
  errors.section_excess = section.excess;
  errors.section_error = section.candidate;
  errors.section_allowed = section.allowed;
  errors.section_dim = section.dim;
  errors.section_index = section.index;
}

}  // namespace

ErrorSums error_against(const at::Tensor& got, const at::Tensor& oracle, at::Device device) {
  return errors_of(compare(got, got, oracle, device, false), got.numel());
}

OutputErrors reference_errors(const at::Tensor& reference, const at::Tensor& oracle,
                              at::Device device) {
  OutputErrors errors;
  errors.elements = reference.numel();
  const ErrorSums sums = error_against(reference, oracle, device);
  errors.reference_rms = sums.rms;
  errors.reference_worst = sums.worst;
  errors.oracle_rms = sums.oracle_rms;
  errors.oracle_max = sums.oracle_max;
  errors.reference_finite = sums.finite;
  errors.finite = sums.finite_in_both == sums.finite_oracle ? sums.finite_oracle : 0;
  return errors;
}

void candidate_errors(const at::Tensor& candidate, const at::Tensor& reference,
                      const at::Tensor& oracle, OutputErrors& errors) {
  const bool floating = candidate.is_floating_point();
  const Comparison compared =
      compare(candidate, reference, oracle, candidate.device(), /*sections=*/floating);
  errors.exact_equal = compared.different == 0;
  if (!floating) errors.int_mismatch = compared.different;
  errors.nonfinite_mismatch = compared.nonfinite;
  errors.allclose_worst = compared.allclose_worst;
  const ErrorSums sums = errors_of(compared, candidate.numel());
  errors.candidate_rms = sums.rms;
  errors.candidate_worst = sums.worst;
  errors.lost = sums.finite_oracle - sums.finite_in_both;
  take_section(worst_section(compared.sections, candidate), errors);
}

void section_errors(const at::Tensor& candidate, const at::Tensor& reference,
                    const at::Tensor& ties_flipped, const at::Tensor& oracle,
                    OutputErrors& errors) {
  const auto against = [&](const at::Tensor& other) {
    return compare(candidate, other, oracle, candidate.device(), true);
  };
  Comparison compared = against(reference);
  if (ties_flipped.defined()) {
    const Comparison other = against(ties_flipped);
    if (other.different == 0) {
      errors.section_excess = 0;
      return;
    }
    // Twice the error of flipped ties is allowed, and the error of four ties, where that is more
    // than the reference's own error allows.
    constexpr double kShare = 2 / kSectionFactor, kFew = 4;
    const double few = kFew * std::pow(errors.near_worst * errors.oracle_rms / kSectionFactor, 2);
    for (size_t d = 0; d < std::min(compared.sections.size(), other.sections.size()); ++d) {
      at::Tensor own = compared.sections[d].select(0, 1);
      own.copy_(
          at::maximum(own, other.sections[d].select(0, 1) * (kShare * kShare)).clamp_min(few));
    }
  }
  take_section(worst_section(compared.sections, candidate), errors);
}

void small_errors(const at::Tensor& candidate, const at::Tensor& reference,
                  const at::Tensor& oracle, double gap, OutputErrors& errors) {
  const SectionError small = error_below(gap, candidate, reference, oracle);
  if (small.excess > errors.section_excess) take_section(small, errors);
}

bool bit_equal(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.reshape({-1}), y = b.reshape({-1});
  // A comparison on a device takes a byte for each element. From the host it takes a copy.
  const int64_t part = x.device() == y.device() ? int64_t{1} << 28 : kSlice;
  bool equal = true;
  for (int64_t begin = 0; begin < x.numel() && equal; begin += part) {
    const int64_t end = std::min(x.numel(), begin + part);
    equal = at::equal(bits(slice_of(x, begin, end, a.device())),
                      bits(slice_of(y, begin, end, a.device())));
  }
  return equal;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (!a.is_floating_point()) return bit_equal(a, b) ? 0 : kFar;
  const Comparison compared = compare(a, b, b, a.device(), false);
  if (compared.different == 0) return 0;
  return compared.nonfinite ? kFar : errors_of(compared, a.numel()).rms;
}

double update_error(const at::Tensor& after, const at::Tensor& exact) {
  const Comparison compared = compare(after, after, exact, after.device(), false);
  return compared.both ? std::sqrt(compared.error_sum / static_cast<double>(compared.both)) : 0;
}

bool updated_alike(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& before,
                   const UpdateOracle& oracle) {
  if (bit_equal(got, expected)) return true;
  if (!got.is_floating_point()) return false;
  if (!std::isfinite(distance(got, expected))) return false;
  constexpr double kRmsFactor = 4, kFloor = 5;  // as of outputs (verify/numerics/numerics.cc)
  constexpr double kRoundings = 4, kWorst = 0.1, kStray = 1e-3;
  const at::Device device = got.device();
  const double eps = dtype_eps(dtype_of(expected.scalar_type()));
  const at::Tensor g = got.reshape({-1}), e = expected.reshape({-1}), b = before.reshape({-1}),
                   x = oracle.exact.reshape({-1});
  struct Updates {
    // Doubles: got - expected, expected, expected - before. They are 0 where the expected or the
    // old element is not finite.
    at::Tensor off, value, by;
    at::Tensor kept;   // `got` has the old element
    at::Tensor stays;  // the reference and fp64 have the old element
  };
  const auto visit = [&](const auto& take) {
    for_slices(g.numel(), [&](int64_t begin, int64_t end) {
      const at::Tensor gs = slice_of(g, begin, end, device).to(at::kDouble);
      const at::Tensor es = slice_of(e, begin, end, device).to(at::kDouble);
      const at::Tensor bs = slice_of(b, begin, end, device).to(at::kDouble);
      const at::Tensor xs = slice_of(x, begin, end, device).to(at::kDouble);
      const at::Tensor ok = es.isfinite().logical_and(bs.isfinite());
      take({zero_where_not(es.isfinite(), gs - es), zero_where_not(es.isfinite(), es),
            zero_where_not(ok, es - bs), gs.eq(bs), es.eq(bs).logical_and(xs.eq(bs))});
    });
  };
  double change = 0, changed = 0, count = 0;
  visit([&](const Updates& u) {
    const at::Tensor moved = u.by.ne(0);
    const at::Tensor sums =
        at::stack({u.by.square().sum(), zero_where_not(moved, u.value).square().sum(),
                   moved.sum().to(at::kDouble)})
            .cpu();
    const double* s = sums.const_data_ptr<double>();
    change += s[0], changed += s[1], count += s[2];
  });
  const double all = std::sqrt(static_cast<double>(g.numel()));
  const double allowed =
      std::max(kRmsFactor * oracle.error * all, kFloor * eps * std::sqrt(change));
  if (update_error(got, oracle.exact) * all > allowed + kRoundings * eps * std::sqrt(changed)) {
    return false;
  }
  const double typical = count > 0 ? std::sqrt(change / count) : 0;
  bool alike = true;
  visit([&](const Updates& u) {
    const at::Tensor share = at::where(u.by.ne(0), at::full({}, kWorst, u.by.options()),
                                       at::full({}, kStray, u.by.options()));
    const at::Tensor worst = u.off.abs() > share * typical + u.value.abs() * (kRoundings * eps);
    const at::Tensor left_out = u.kept.logical_and(u.by.abs() > u.value.abs() * (1.01 * eps));
    const at::Tensor strayed = u.stays.logical_and(u.kept.logical_not());
    alike = alike && !worst.logical_or(left_out).logical_or(strayed).any().item<bool>();
  });
  return alike && sections_updated_alike(got, expected, before);
}

bool overlaps(at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1) dims.emplace_back(std::abs(strides[d]), sizes[d]);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;  // of the dimensions with smaller strides
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

std::string meta_difference(const Value& candidate, const Value& reference) {
  if (candidate.dtype != reference.dtype) {
    return "dtype " + std::string(dtype_name(candidate.dtype)) + ", expected " +
           std::string(dtype_name(reference.dtype));
  }
  if (candidate.shape != reference.shape) {
    return "shape " + shape_text(candidate.shape) + ", expected " + shape_text(reference.shape);
  }
  if (overlaps(candidate.shape, candidate.strides) &&
      !overlaps(reference.shape, reference.strides)) {
    return "strides " + shape_text(candidate.strides) + ": elements share memory, where those of " +
           "the reference do not";
  }
  return "";
}

}  // namespace kw::exec
