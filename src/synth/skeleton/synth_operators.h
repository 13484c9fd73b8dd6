// The operators that tasks are made of: PyTorch calls, each with the domain its arguments come from
// (docs/synthesis.md) and the rows of the operator table that say what it computes and costs. One
// call may be several rows (softsign), and one row several calls (transposed convolutions).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct OperatorRow;

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
  kTotal,      // all elements in one number, which no other operator reads
  kLoss,       // so, of two tensors of one shape
  kClassLoss,  // so, of scores (N, C) and N classes of its own
  kRmsNorm,    // as layer norm, without bias
  kPrelu,      // same shape, slopes of its own for each channel
  kTop,        // some elements of one dim
  kAdaptivePool,
  kGlobalPool,
  kUpsample,
  kPad,        // of the last dim
  kReflect,    // of all dims of a window, with elements of the tensor
  kReplicate,  // so
  kWrap,       // so
  kRepeat,     // each element of one dim
  kPixelShuffle,
  kPixelUnshuffle,
  kChannelShuffle,
  kPermute,
  kUnsqueeze,
  kGlu,     // half of one dim times the sigmoid of the other
  kLinear,  // (..., K) with (N, K)
  kMatVec,
  kAddmm,      // a product of two matrices and a bias of its own
  kBaddbmm,    // so, of batches
  kAttention,  // queries (..., L, E) with (..., S, E), which are keys and values
  kEmbedding,  // rows of (V, D) at indices of its own
  kIndexSelect,
  kGather,
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
// CSP-DAG's 61: the first of them.
std::span<const SynthOperator> csp_dag_operators();
std::vector<const SynthOperator*> pointers(std::span<const SynthOperator> operators);
const SynthOperator* find_synth_operator(std::string_view name);  // nullptr when there is none

// Tensors that may be results of other operators: 1 or 2.
int operand_count(Domain domain);

// Whether other operators may read its results: not integers, nor single numbers.
bool is_readable(Domain domain);

// The rows of the operator table that a call is made of.
const std::vector<const OperatorRow*>& rows_of(const SynthOperator& op);

// Why no call is made of a row of the operator table; empty where one is.
std::string_view not_drawn(const OperatorRow& row);

// What a call is given beside tensors.
struct Parameters {
  int dim = 0, dim1 = 0;
  bool keepdim = false;
  int kernel = 1, stride = 1, padding = 0, dilation = 1, output_padding = 0;
  int groups = 1;
  int normalized = 1;  // trailing dims that a layer norm takes together
  int diagonal = 0;
  int size = 0;                           // of the dims that an adaptive pool or topk gives
  int scale = 1;                          // times as large
  int before = 0, after = 0;              // elements that are padded
  std::array<int8_t, kRanks> order = {};  // of a permutation: which dim stands there
  int index_rank = 0;                     // of an embedding's indices
  bool affine = false;                    // own weight and bias (of a convolution: own bias)
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
