// What the rules of algebra.h see in a step: a linear map of the features with constant weights, or
// a factor and an addend for each feature. Weights are values of `derive` (weights.h).
#pragma once

#include <optional>

#include "program/rewrite/weights.h"

namespace kw {

// A linear, matmul, mm or addmm, or a convolution, transposed or not, on float32 (or what
// weights.takes()): result = input
// times weight, plus bias. Dimension `channel` of input and of result holds the features.
struct LinearMap {
  AtenCall call;
  ValueId input = -1, result = -1;
  DType dtype = DType::kFloat32;
  int channel = 0;
  int64_t in_features = 0, out_features = 0;
  bool convolution = false, transposed = false;
  bool padded = false;     // zeros around the input, or a transposed one's edges cut off
  bool pointwise = false;  // each position of the result comes from that position of the input
  int64_t groups = 1;
  ValueId weight = -1, bias = -1;  // in forward; no bias: -1
  bool weight_transposed = false;  // [in, out] instead of [out, in]
  double alpha = 1, beta = 1;      // factors of product and bias
};

// nullopt for other steps, and where a weight is no constant.
std::optional<LinearMap> read_linear_map(const Program& forward, const Step& step,
                                         const WeightMaker& weights);

// A map's weights in derive: [out, in] or as the convolution has them, and [out].
struct MapWeights {
  ValueId weight = -1;
  std::optional<ValueId> bias;
};
MapWeights load(const LinearMap& map, WeightMaker& weights);

// The weight times a factor (a number, a value without dimensions, or one for each feature) of each
// result's or each input's feature.
ValueId scale_features(const LinearMap& map, ValueId weight, const Term& factor, bool of_result,
                       WeightMaker& weights);
// The map's step, without its result, on another input and with other weights: linear for all
// matrix products.
AtenCall emit(const LinearMap& map, ValueId input, const MapWeights& made, WeightMaker& weights);
AtenCall emit_linear(const LinearMap& map, ValueId input, const MapWeights& made,
                     WeightMaker& weights);

// result = input * scale + shift, where those are terms for each feature.
struct Affine {
  ValueId input = -1, result = -1;
  std::optional<Term> scale, shift;
};
// A step of that kind (arithmetic with constants, a batch norm in evaluation) for features in
// dimension `channel`.
std::optional<Affine> read_affine(const Program& forward, const Step& step, int channel,
                                  WeightMaker& weights);

// An integer or a list of them, repeated to `count`; empty when absent.
std::vector<int64_t> integers(const AtenCall& call, const std::string& name, size_t count);
bool flag(const AtenCall& call, const std::string& name);
bool is_default(const AtenCall& call, const std::string& name);  // absent or none

}  // namespace kw
