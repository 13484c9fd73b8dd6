// What optimized.py asks before it runs its steps instead of the original: Python conditions.
#pragma once

#include <string>
#include <vector>

#include "program/python/step_writer.h"

namespace kw {

// Sets leaves[k], for each leaf {"in": k} of an argument tree, to the Python expression that
// reaches it from `path`. Appends to `checks` what literals and containers must be. The checks of a
// container come before those of its items.
void argument_leaves(const Json& tree, const std::string& path, std::vector<std::string>& leaves,
                     std::vector<std::string>& checks);

// An entry of the list that _kw_misfit() compares tensors with: what it is called in warnings,
// dtype, shape and strides.
std::string expectation(const std::string& name, const Value& value);

// Where kernels run: what _kw_misfit() asks for, and where steps make their tensors. Under
// Triton's interpreter that is the CPU, so a module can be tried without a GPU.
std::string device_names();

// The function _kw_misfit() of a module with this task's kernels.
std::string misfit_function(const Task& task);

// The class _kw_Made: what a module keeps of what is made of its state.
std::string made_class();

// The function _kw_are_tables(), which compares tensors with the outputs of `premises`.
std::string tables_function(const Task& task, const Program& premises);

}  // namespace kw
