// What a task's Programs tell of the inputs and parameters it can be tried on. Nothing is run.
#pragma once

#include <set>
#include <vector>

#include "program/program.h"

namespace kw {

// Whether all floating inputs are normal numbers around zero: other signs say nothing new.
bool is_drawn_around_zero(const Task& task);

// Whether the program sums, and all that it does gives integers from integers.
bool gives_integers(const Task& task);

// The outputs that hang on integers made of floating numbers: what 0/0 is as one, nobody says. All
// of them when such an integer is written in place, or may be the index of something.
std::set<size_t> outputs_by_conversion(const Task& task);

// Returns the outputs that depend on an index, such as that of the largest element, or on an order.
// Among many equal numbers the index may be any. Returns all outputs if such an index is written in
// place.
std::set<size_t> outputs_by_index(const Task& task);

// Whether it tells NaN or infinities from numbers.
bool asks_what_is_finite(const Task& task);

// Whether it takes exponentials, in operators that say so by the steps that spell them too.
bool has_exponentials(const Task& task);

// Whether it takes roots, as a variance's.
bool takes_roots(const Task& task);

// Returns the outputs that are such indices themselves, as an operator returned them.
std::set<size_t> index_outputs(const Task& task);

// Whether there is a mask among the inputs, or one that is not drawn.
bool has_constants(const Task& task);

// Whether a call leaves other buffers than it found.
bool updates_state(const Task& task);

// Of the reference's state, the parameters that the constructor of `candidate` makes tensors of its
// own of (packed or converted weights) which its calls read, or has not, or that the reference's
// own makes buffers of: who changes them afterwards must construct both anew.
std::vector<int> packed_parameters(const Task& candidate, const Task& reference);

}  // namespace kw
