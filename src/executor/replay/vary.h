// Changes drawn inputs as each Variation requires. The result depends only on `seed`, or on the
// state of the generators if a function has no seed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/protocol.h"

namespace kw::exec {

// Changes `inputs` in place. A storage that several share is changed once. kPlain, kAffine,
// kParameters and kUsed leave floating inputs as they are.
void vary(const std::vector<at::Tensor>& inputs, Variation variation, uint64_t seed);

// Multiplies floating tensors in place. A storage that several share is changed once.
void scale_storages(const std::vector<at::Tensor>& tensors, double factor);

// Perturbs inputs: each element becomes larger or smaller by one or two units in its last place.
// Whole numbers and tensors of two values stay, because flags, counts and masks are known exactly.
void move_by_about_a_unit(const std::vector<at::Tensor>& inputs, uint64_t seed);

// Returns whether all elements are equal; false for an empty tensor.
bool is_constant(const at::Tensor& tensor);

// Returns whether at most one dimension has more than one element.
bool is_vector(const at::Tensor& tensor);

// Draws each element of constant masks and constant floating inputs, because a constant does not
// show where it is read, or whether it is read. Floating elements become positive, as a state may
// be a variance. Changes whole storages, so that views of them agree.
void draw_constants(const std::vector<at::Tensor>& inputs, uint64_t seed);

// Puts each of `numbers` that the dtype can hold in one of 16 elements. A tensor that has several
// elements at one place stays.
void put_numbers(const at::Tensor& tensor, const std::vector<double>& numbers);

// Sets some rows and columns of a mask of two or more dimensions to all ones, others to all zeros.
void put_whole_rows(at::Tensor mask);

}  // namespace kw::exec
