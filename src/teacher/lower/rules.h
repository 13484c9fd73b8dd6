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

std::span<const LoweringRule> arithmetic_rules();
std::span<const LoweringRule> convolution_rules();
std::span<const LoweringRule> copy_rules();
std::span<const LoweringRule> factory_rules();
std::span<const LoweringRule> grid_rules();
std::span<const LoweringRule> lookup_rules();
std::span<const LoweringRule> loss_rules();
std::span<const LoweringRule> matmul_rules();
std::span<const LoweringRule> norm_rules();
std::span<const LoweringRule> pointwise_rules();
std::span<const LoweringRule> reduction_rules();
std::span<const LoweringRule> resampling_rules();
std::span<const LoweringRule> scan_rules();
std::span<const LoweringRule> view_rules();
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
