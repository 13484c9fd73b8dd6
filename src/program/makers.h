// Which steps of a program made a value.
#pragma once

#include "program/program.h"

namespace kw {

// The operator that makes `id`; null of an input, and of what a launch makes.
const AtenCall* maker_of(const Program& program, ValueId id);

// The values that `call` is given, those in lists too.
std::vector<ValueId> operands_of(const AtenCall& call);

// Whether arithmetic stands behind a value: it is no input, nor a view or copy of one.
bool is_computed(const Program& program, ValueId id);

// Whether random numbers stand behind a value.
bool is_drawn(const Program& program, ValueId id);

// What has the same elements in the same order: a view between two contiguous tensors.
ValueId behind_views(const Program& program, ValueId id);

// Whether an operator in place, or any launch, may change `id` after it was made.
bool is_overwritten(const Program& program, ValueId id);

}  // namespace kw
