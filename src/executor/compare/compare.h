// Computes the float64 sums that errors are made of, in one pass over an answer, the expected
// answer and the fp64 oracle. On a GPU one fused kernel reads each tensor once (cuda_compare.h).
// Elsewhere, or without a compiler for that kernel, PyTorch's operators do it a part at a time.
#pragma once

#include <vector>

#include "executor/aten/aten.h"

namespace kw::exec {

struct Comparison {
  // Compares `got` with the oracle over elements finite in both; oracle_* are over the oracle's
  // finite elements.
  double error_sum = 0, error_max = 0;    // sum of squares, largest magnitude
  double oracle_sum = 0, oracle_max = 0;  // sum of squares, largest magnitude
  int64_t both = 0, oracles = 0;          // elements finite in both; in the oracle
  int64_t sound = 0;                      // elements finite in both, or equal
  // Compares `got` with `expected`.
  int64_t different = 0;  // elements with other bits
  int64_t nonfinite = 0;  // elements of which one is NaN or infinite, and the other not the same
  double allclose_worst = 0;  // max of |g - e| / (1e-2 + 1e-2 |e|) over elements finite in both
  // For each dimension a tensor [4, size] on the host, with a column for each cross-section. Its
  // rows are the squared errors of `got`, those of `expected`, the oracle's squares, and the number
  // of elements. Elements that are not finite in all three are left out. Cross-sections of a vector
  // are stretches of vector_step(size) elements. Empty unless asked for, if `got` has the bits of
  // `expected`, and for scalars.
  std::vector<at::Tensor> sections;
};

// Returns the elements of one stretch of a vector of `size`: 16, or more if there would be over
// 4096 stretches.
int64_t vector_step(int64_t size);

// Compares on `device`; tensors may live elsewhere. All shapes must agree, and the dtypes of `got`
// and `expected`. The oracle is float64 or of the same dtype.
Comparison compare(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& oracle,
                   at::Device device, bool sections);

// Does the same by PyTorch's operators, on any device.
Comparison compare_in_parts(const at::Tensor& got, const at::Tensor& expected,
                            const at::Tensor& oracle, at::Device device, bool sections);

// Returns a tensor's elements as integers of their size.
at::Tensor bits(const at::Tensor& tensor);

// Returns `values` with 0 where `keep` is false.
at::Tensor zero_where_not(const at::Tensor& keep, const at::Tensor& values);

}  // namespace kw::exec
