// The operators that tasks are made of: PyTorch calls, each with the domain its arguments come from
// (docs/synthesis.md) and the rows of the operator table that say what it computes and costs. One
// call may be several rows (softsign), and one row several calls (transposed convolutions).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

constexpr int kRanks = 5;  // of tensors: 1 to 5

// Which arguments a call takes, and what its result's shape is.
enum class Domain {
  kUnary,      // same shape
  kBinary,     // broadcast
  kMatmul,     // (..., M, K) with (K, N) or with (..., K, N) of equal leading dims
  kBmm,        // (B, M, K) with (B, K, N)
  kTranspose,  // two dims change places
  kReduce,     // over one dim
  kSpread,     // so, and needs two elements: variances
  kArg,        // so, and gives integers, which no other operator reads
  kScan,       // along one dim, same shape
  kSoftmax,    // so, of two elements at least
  kBatchNorm,
  kLayerNorm,
  kGroupNorm,
  kInstanceNorm,
  kAvgPool,
  kMaxPool,
  kConv,
  kConvTranspose,
  kTriangle,  // same shape, over the last two dims
  kCat,
  kStack,
};

struct SynthOperator {
  std::string_view name;  // as CSP-DAG names it
  Domain domain;
  int spatial;            // dims of a window: 1 to 3; 0 elsewhere
  std::string_view call;  // Python: {0}, {1} are tensors, {name} parameters
  // Further parameters, each with what it may be: "min=-1.0,0.0 max=0.5,1.0".
  std::string_view choices;
  std::string_view rows;  // of the operator table, less "aten."
};

std::span<const SynthOperator> synth_operators();
std::vector<const SynthOperator*> all_synth_operators();
const SynthOperator* find_synth_operator(std::string_view name);  // nullptr when there is none

// Tensors that may be results of other operators: 1 or 2.
int operand_count(Domain domain);

// What a call is given beside tensors.
struct Parameters {
  int dim = 0, dim1 = 0;
  bool keepdim = false;
  int kernel = 1, stride = 1, padding = 0, dilation = 1, output_padding = 0;
  int groups = 1;
  int normalized = 1;  // trailing dims that a layer norm takes together
  int diagonal = 0;
  bool affine = false;    // own weight and bias (of a convolution: own bias)
  bool training = false;  // batch norm: statistics of the batch; else running ones, of its own
  std::vector<std::string_view> chosen;  // values of `choices`, in order
  int rank = 0;                          // of the result; 0 where nothing may read it
};

// Every set of parameters for operands of these ranks (b: 0 where there is one operand); none where
// the ranks are outside the domain. Made once; any thread.
const std::vector<Parameters>& parameter_sets(const SynthOperator& op, int a, int b);

// The value of `key` in {key} of `call`; empty when it is no parameter of these.
std::string parameter_text(const SynthOperator& op, const Parameters& parameters,
                           std::string_view key);

}  // namespace kw
