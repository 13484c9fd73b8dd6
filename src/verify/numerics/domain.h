// What a task's Programs tell about the inputs and parameters it can be tried on. Nothing is run.
#pragma once

#include <set>
#include <vector>

#include "program/program.h"

namespace kw {

// Returns whether all floating inputs are normal numbers around zero: other signs say nothing new.
bool is_drawn_around_zero(const Task& task);

// Returns whether the program sums and all its operators give integers from integers.
bool gives_integers(const Task& task);

// Returns the outputs that depend on integers made of floating numbers; no rule says which integer
// 0/0 is. Returns all outputs if such an integer is written in place or may be an index.
std::set<size_t> outputs_by_conversion(const Task& task);

// Returns the outputs that depend on an index, such as that of the largest element, or on an order.
// Among many equal numbers the index may be any. Returns all outputs if such an index is written in
// place.
std::set<size_t> outputs_by_index(const Task& task);

// Returns whether the program tells NaN or infinities from numbers.
bool asks_what_is_finite(const Task& task);

// Returns whether the program takes exponentials, also within the steps that spell an operator out.
bool has_exponentials(const Task& task);

// Returns whether the program asks which numbers are larger: it compares, chooses or sorts.
bool compares(const Task& task);

// Returns whether the program makes something of rows as a whole, such as sums or maxima.
bool reduces_rows(const Task& task);
// Whether a task has exponentials, and sums, maxima or running ones over rows.
bool has_exponentials_in_rows(const Task& task);

// Returns whether the program takes roots, such as a variance's.
bool takes_roots(const Task& task);

// Returns the outputs that are such indices themselves, as an operator returned them.
std::set<size_t> index_outputs(const Task& task);

// Returns whether an input is a mask, or a floating tensor that is not drawn.
bool has_constants(const Task& task);

// Returns whether a call changes buffers.
bool updates_state(const Task& task);

}  // namespace kw
