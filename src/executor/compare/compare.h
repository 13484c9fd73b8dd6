// One pass over an answer, the answer that was expected and the fp64 oracle: the sums that errors
// are made of, in float64. On a GPU one fused kernel reads each tensor once (cuda_compare.h);
// elsewhere, and where there is no compiler for it, PyTorch's operators do it a part at a time.
#pragma once

#include <vector>

#include "executor/aten/aten.h"

namespace kw {

struct Comparison {
  // `got` against the oracle: over elements finite in both; oracle_* over its finite ones.
  double error_sum = 0, error_max = 0;    // of squares; of magnitudes
  double oracle_sum = 0, oracle_max = 0;  // the same
  int64_t both = 0, oracles = 0;
  int64_t sound = 0;  // finite in both, or equal
  // `got` against `expected`.
  int64_t different = 0;      // other bits
  int64_t nonfinite = 0;      // one is NaN or infinite, and the other is not the same
  double allclose_worst = 0;  // max of |g - e| / (1e-2 + 1e-2 |e|) over elements finite in both
  // For each dimension [4, size], on the host: over the elements of each cross-section that are
  // finite in all three, squared errors of `got` and of `expected`, the oracle's squares, and how
  // many there are. Cross-sections of a vector are stretches of vector_step(size) elements. Empty
  // unless asked for, when `got` has the bits of `expected`, and of scalars.
  std::vector<at::Tensor> sections;
};

// Elements of one stretch of a vector of `size`: 16, and more where there would be over 4096.
int64_t vector_step(int64_t size);

// Shapes must agree, and dtypes of `got` and `expected`; a tensor may live elsewhere than `device`,
// where the work is done. The oracle is float64 or of the same dtype.
Comparison compare(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& oracle,
                   at::Device device, bool sections);

// The same by PyTorch's operators, whatever the device.
Comparison compare_in_parts(const at::Tensor& got, const at::Tensor& expected,
                            const at::Tensor& oracle, at::Device device, bool sections);

// A tensor's elements as integers of their size.
at::Tensor bits(const at::Tensor& tensor);

// Returns `values` with 0 in place of the elements that `keep` does not hold.
at::Tensor zero_where_not(const at::Tensor& keep, const at::Tensor& values);

}  // namespace kw
