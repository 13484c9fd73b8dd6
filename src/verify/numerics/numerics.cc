#include "verify/numerics/numerics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "ops/dtype.h"

namespace kw {
namespace {

constexpr double kRmsFactor = 4, kWorstFactor = 8;
// Factor on the change by near ties: other elements may be near a tie for a candidate, and more of
// them.
constexpr double kNearFactor = 1.5;
// Factor for one trial of few elements. Two errors of one distribution rarely differ by so much.
constexpr double kGrossFactor = 256;
// What a candidate's error may be although the reference's is smaller. A correctly rounded result
// is off by at most half a unit in its last place. If the error is uniform, its RMS is 0.29 units.
//
// The floors let a few roundings pass when the reference has none by luck, as in an exact copy.
// Half types are rounded once, from float32. Other results are computed in their own precision. For
// these the floor also allows what usual formulas lose against special functions: exp(x) - 1 for
// expm1, 2 sigmoid(2x) - 1 for tanh, exp(p log x) for pow.
struct Floor {
  double rms, worst;  // units in the last place
};
constexpr Floor kHalfFloor = {1, 4}, kOwnFloor = {5, 8};

Floor floor_of(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? kHalfFloor : kOwnFloor;
}

// Of the output's RMS: see flushed_below().
double flushed(const OutputErrors& errors) {
  return flushed_below(parse_dtype(errors.dtype)) / (errors.oracle_rms > 0 ? errors.oracle_rms : 1);
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

}  // namespace

ErrorBounds error_bounds(const OutputErrors& errors) {
  const double eps = dtype_eps(parse_dtype(errors.dtype)), zero = flushed(errors);
  if (errors.elements < kFewElements) {
    // What the last rounding alone may explain says nothing of how unsure the rest is.
    const auto gross = [&](double error) {
      return std::max(kGrossFactor * std::max(0.0, error - eps / 2), std::sqrt(eps));
    };
    return {gross(errors.reference_rms) + errors.near_rms + zero,
            gross(errors.reference_worst) + errors.near_worst + zero};
  }
  const double peak = errors.oracle_rms > 0 ? errors.oracle_max / errors.oracle_rms : 1;
  const Floor floor = floor_of(parse_dtype(errors.dtype));
  return {std::max(kRmsFactor * errors.reference_rms, floor.rms * eps) +
              kNearFactor * errors.near_rms + zero,
          std::max(kWorstFactor * errors.reference_worst, floor.worst * eps * peak) +
              errors.near_worst + zero};
}

double times_allowed(const OutputErrors& errors) {
  const bool of_size =
      errors.same_meta && errors.nonfinite_mismatch == 0 && is_floating(parse_dtype(errors.dtype));
  if (!of_size) return std::numeric_limits<double>::infinity();
  const ErrorBounds bounds = error_bounds(errors);
  return std::max({errors.candidate_rms / bounds.rms, errors.candidate_worst / bounds.worst,
                   errors.section_excess});
}

bool is_of_one_element(const OutputErrors& errors) {
  const double all =
      errors.candidate_rms * errors.candidate_rms * static_cast<double>(errors.elements);
  return errors.elements >= kFewElements &&
         errors.candidate_worst * errors.candidate_worst >= all / 2;
}

std::string output_fault(const OutputErrors& errors, Tolerance tolerance) {
  if (!errors.same_meta) return errors.meta_difference;
  if (errors.exact_equal) return {};
  if (errors.nonfinite_mismatch > 0) {
    return std::to_string(errors.nonfinite_mismatch) +
           " elements are NaN or infinite where the reference's are not, or the other way round";
  }
  const DType dtype = parse_dtype(errors.dtype);
  if (tolerance == Tolerance::kKernelBench && dtype != DType::kBool) {
    if (errors.allclose_worst <= 1) return {};
    return "it is not allclose with atol = rtol = 1e-2 (worst " + number(errors.allclose_worst) +
           " times the tolerance)";
  }
  if (!is_floating(dtype)) {
    if (errors.int_mismatch == 0) return {};
    return std::to_string(errors.int_mismatch) + " " + errors.dtype +
           " elements differ from the reference";
  }
  // Written so that NaN fails.
  const ErrorBounds bounds = error_bounds(errors);
  if (!(errors.candidate_rms <= bounds.rms)) {
    return "its relative RMS error is " + number(errors.candidate_rms) + ", where " +
           number(bounds.rms) +
           " is allowed (the reference's own: " + number(errors.reference_rms) + ")";
  }
  if (!(errors.candidate_worst <= bounds.worst)) {
    return "its worst error is " + number(errors.candidate_worst) + " of its RMS, where " +
           number(bounds.worst) +
           " is allowed (the reference's own: " + number(errors.reference_worst) + ")";
  }
  if (!(errors.section_excess <= 1)) {
    const std::string where = errors.section_dim < 0
                                  ? "among the elements of the smaller scale"
                                  : "from index " + std::to_string(errors.section_index) +
                                        " of dimension " + std::to_string(errors.section_dim);
    return "its relative RMS error " + where + " is " + number(errors.section_error) + ", where " +
           number(errors.section_allowed) + " is allowed";
  }
  return {};
}

std::string integer_fault(const OutputErrors& errors) {
  if (!errors.same_meta) return errors.meta_difference;
  if (errors.integers_wrong == 0) return {};
  return std::to_string(errors.integers_wrong) + " of " + std::to_string(errors.integers) +
         " elements are not the integer that they must be: something is missing, doubled or taken "
         "from elsewhere";
}

void ErrorPool::add(const std::vector<OutputErrors>& outputs) {
  sums_.resize(std::max(sums_.size(), outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputErrors& errors = outputs[i];
    const DType dtype = parse_dtype(errors.dtype);
    if (errors.elements >= kFewElements || !is_floating(dtype)) continue;
    Sums& sums = sums_[i];
    const double scale = errors.oracle_rms > 0 ? errors.oracle_rms : 1;
    sums.candidate += std::pow(errors.candidate_rms * scale, 2);
    sums.reference += std::pow(errors.reference_rms * scale, 2);
    sums.near += std::pow(errors.near_rms * scale, 2);
    sums.oracle += std::pow(errors.oracle_rms, 2);
    sums.flushed += std::pow(flushed_below(dtype), 2);
    sums.floor = floor_of(dtype).rms * dtype_eps(dtype);
    ++sums.trials;
  }
}

std::optional<ErrorPool::Excess> ErrorPool::excess() const {
  for (size_t i = 0; i < sums_.size(); ++i) {
    const Sums& sums = sums_[i];
    if (sums.trials == 0) continue;
    const double scale = sums.oracle > 0 ? sums.oracle : 1;
    const double candidate = std::sqrt(sums.candidate / scale);
    const double reference = std::sqrt(sums.reference / scale);
    const double allowed = factor_ * std::max(kRmsFactor * reference, sums.floor) +
                           kNearFactor * std::sqrt(sums.near / scale) +
                           std::sqrt(sums.flushed / scale);
    if (!(candidate <= allowed)) return Excess{i, sums.trials, candidate, reference, allowed};
  }
  return std::nullopt;
}

std::string ErrorPool::fault() const {
  const auto found = excess();
  if (!found) return {};
  return "output " + std::to_string(found->output) + " (few elements, " +
         std::to_string(found->trials) + " trials together): its relative RMS error is " +
         number(found->candidate) + ", where " + number(found->allowed) +
         " is allowed (the reference's own: " + number(found->reference) + ")";
}

double ErrorPool::times_allowed() const {
  const auto found = excess();
  return found ? found->candidate / found->allowed : 0;
}

}  // namespace kw
