// How operators are lowered, as tables: each lower_*.cc has the rules of one kind of operators.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "teacher/nodes/builder.h"
#include "teacher/nodes/call.h"
#include "teacher/nodes/positions.h"
#include "teacher/nodes/views.h"

namespace kw::teacher {

// `lower` gives the results of the call; Refusal if the teacher cannot write it.
struct LoweringRule {
  std::string_view op;  // "aten.clamp.Tensor", or "aten.mm" for all overloads
  void (*lower)(Builder& b, Call& call);
};

// Returns the rule of an operator (of its overload, else of all its overloads), null if none has
// it. Operators without a rule may have an expression in the operator table.
const LoweringRule* find_rule(const std::string& op);
// Returns all rules.
std::span<const LoweringRule> lowering_rules();

// lower_arithmetic.cc: div with a rounding mode, remainder, clamp by tensors, xlogy, nan_to_num.
std::span<const LoweringRule> arithmetic_rules();
// lower_convolution.cc: convolutions and transposed convolutions.
std::span<const LoweringRule> convolution_rules();
// lower_copies.cc: cat, stack, flip, roll, repeat, pixel and channel shuffles, pads.
std::span<const LoweringRule> copy_rules();
// lower_factories.cc: empty, zeros, ones, full, arange, scalar_tensor, fill_.
std::span<const LoweringRule> factory_rules();
// lower_grids.cc: grid_sampler, affine_grid_generator.
std::span<const LoweringRule> grid_rules();
// lower_lookups.cc: embedding, index, gather, take; diagonals, unfold, writes to a part.
std::span<const LoweringRule> lookup_rules();
// lower_losses.cc: losses of input and target.
std::span<const LoweringRule> loss_rules();
// lower_matmul.cc: matmul, bmm, addmm and their like.
std::span<const LoweringRule> matmul_rules();
// lower_norms.cc: layer, rms, group, batch and instance norm.
std::span<const LoweringRule> norm_rules();
// lower_pointwise.cc: gelu, relu, clamp by numbers, lerp, pow, sign, maximum, tril, triu. Operators
// with an expression in the operator table need no rule.
std::span<const LoweringRule> pointwise_rules();
// lower_reductions.cc: sum, mean, max, argmax, var, norm, logsumexp, softmax and log_softmax.
std::span<const LoweringRule> reduction_rules();
// lower_resampling.cc: upsample (interpolate).
std::span<const LoweringRule> resampling_rules();
// lower_scans.cc: cumsum, cumprod, cummax, cummin, logcumsumexp.
std::span<const LoweringRule> scan_rules();
// lower_views.cc: view, expand, permute, slice, split; copies that keep every element in its place.
std::span<const LoweringRule> view_rules();
// lower_windows.cc: pooling, adaptive pooling, im2col.
std::span<const LoweringRule> window_rules();

// Returns the refusal of a call that no rule writes.
Refusal not_written(const Call& call);

// Lowers a pointwise operator by its expression in the operator table.
void lower_table_expression(Builder& b, Call& call);

// Definitions that rules of several files share. Dimensions that are reduced away stay with size 1
// if `keepdim`; those of centered_square_sum always stay.
Tensor mean_of(Builder& b, Tensor t, const std::vector<int>& dims, bool keepdim);
Tensor centered_square_sum(Builder& b, const Tensor& t, const std::vector<int>& dims);

}  // namespace kw::teacher
