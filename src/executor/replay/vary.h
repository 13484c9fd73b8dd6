// How drawn inputs are changed, Variation by Variation. Deterministic in `seed`, and where there is
// none in the generators as they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "runtime/protocol.h"

namespace kw {

// Changes `inputs` in place; a storage that several share is changed once. kPlain, kAffine,
// kParameters and kUsed leave floating ones as they are.
void vary(const std::vector<at::Tensor>& inputs, Variation variation, uint64_t seed);

// Each element becomes larger or smaller by one unit in its last place, or two. But whole numbers
// stay, and tensors of two values: flags, counts and masks are known exactly.
void move_by_about_a_unit(const std::vector<at::Tensor>& inputs, uint64_t seed);

// Whether all elements are equal; false of an empty tensor.
bool is_constant(const at::Tensor& tensor);

// Whether one dimension at most has more than one element.
bool is_vector(const at::Tensor& tensor);

// What is constant says nothing of where it is read, or whether: draws each element of masks and of
// floating inputs, as positive numbers (a state may be a variance). Storages as a whole, so that
// views of them agree.
void draw_constants(const std::vector<at::Tensor>& inputs, uint64_t seed);

// Of a mask of two dimensions and more, some rows and columns become all ones, others all zeros.
void put_whole_rows(at::Tensor mask);

}  // namespace kw
