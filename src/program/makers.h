// What the steps of a program do: which of them made a value, and what they change.
#pragma once

#include <initializer_list>
#include <set>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace kw {

// The operator that makes a tensor of numbers that stand in the program.
inline constexpr const char* kConstant = "kernelwright.constant.default";
bool is_constant(const Step& step);
// Returns the numbers of such a step; null for another one.
const ArgList* numbers_of(const AtenCall& call);

// Returns whether `op` is an overload of one of these ATen operators.
bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names);

// Returns whether a step reads the random generator. Dropping out with probability 0, or outside of
// training, does not.
bool is_random(const AtenCall& call);
bool is_random(const Step& step);

// Returns, for each input of a program, whether steps or outputs use it.
std::vector<bool> used_inputs(const Program& program);

// Returns the storages that steps of a program change.
std::set<int> written_storages(const Program& program, const std::vector<Kernel>& kernels);

// Returns the operator that makes `id`; null for an input, and for what a launch makes.
const AtenCall* maker_of(const Program& program, ValueId id);

// Returns the values that `call` is given, including those in lists.
std::vector<ValueId> operands_of(const AtenCall& call);

// Returns whether a value is computed by arithmetic. An input, or a view or copy of one, is not.
bool is_computed(const Program& program, ValueId id);

// Returns whether a value is made from random numbers.
bool is_drawn(const Program& program, ValueId id);

// Returns the value that `id` is a view of, with the same elements in the same order: both are
// contiguous. Without such a view it is `id`.
ValueId behind_views(const Program& program, ValueId id);

// Whether an operator in place, or any launch, may change `id` after it was made.
bool is_overwritten(const Program& program, ValueId id);

}  // namespace kw
