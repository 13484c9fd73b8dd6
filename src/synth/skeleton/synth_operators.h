// The operators that tasks are made of: PyTorch calls. Each has the domain that its arguments come
// from (docs/synthesis.md), and the rows of the operator table that say what it computes and costs.
// One call may be several rows (softsign), and one row several calls (transposed convolutions).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

constexpr int kRanks = 5;  // of tensors: 1 to 5

// Which arguments a call takes, and which shape its result has. parameters.cc has a row for each.
enum class Domain {
  kUnary,      // same shape
  kBinary,     // broadcast
  kMatmul,     // (..., M, K) with (K, N) or with (..., K, N) of equal leading dims
  kBmm,        // (B, M, K) with (B, K, N)
  kTranspose,  // two dims change places
  kReduce,     // over one dim
  kSpread,     // like kReduce, and needs two elements: variances
  kArg,        // like kReduce, and returns integers, which no other operator reads
  kScan,       // along one dim, same shape
  kSoftmax,    // like kScan, over two elements at least
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
  kLoss,       // like kTotal, of two tensors of one shape
  kClassLoss,  // like kTotal, of scores (N, C) and N separate classes
  kRmsNorm,    // like kLayerNorm, without a bias
  kPrelu,      // same shape, a separate slope for each channel
  kTop,        // some elements of one dim
  kAdaptivePool,
  kGlobalPool,
  kUpsample,
  kPad,        // of the last dim
  kReflect,    // of all dims of a window, with elements of the tensor
  kReplicate,  // like kReflect
  kWrap,       // like kReflect
  kRepeat,     // each element of one dim
  kPixelShuffle,
  kPixelUnshuffle,
  kChannelShuffle,
  kPermute,
  kUnsqueeze,
  kGlu,     // half of one dim times the sigmoid of the other
  kLinear,  // (..., K) with (N, K)
  kMatVec,
  kAddmm,      // a product of two matrices plus a separate bias
  kBaddbmm,    // like kAddmm, of batches
  kAttention,  // queries (..., L, E) with (..., S, E), which are keys and values
  kEmbedding,  // rows of (V, D) at separate indices
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

// Returns whether other operators may read its results: not integers, nor single numbers.
bool is_readable(Domain domain);

}  // namespace kw
