// Tensors in other shapes: index maps without arithmetic.
#pragma once

#include <vector>

#include "teacher/nodes/builder.h"
#include "teacher/nodes/call.h"

namespace kw::teacher {

// Returns `t` in another shape of as many elements, splitting axes where it must.
Tensor reshaped(Builder& b, Tensor t, const std::vector<int64_t>& shape);
// Returns the dimensions of `t` in another order.
Tensor permuted(const Tensor& t, const std::vector<int>& order);
// Returns `length` elements of a dimension, from `start` on in steps of `step`.
Tensor sliced(Builder& b, const Tensor& t, int dim, int64_t start, int64_t step, int64_t length);
Tensor expanded(Builder& b, Tensor t, const std::vector<int64_t>& shape);
// Returns a vector along one dimension of `rank`.
Tensor aligned(Tensor vector, int rank, int dim);
// Returns the dimension `dims[i]` of each tensor (negative: none), broadcast and walked together.
std::vector<Piece> joined(Builder& b, const Call& call, const std::vector<Tensor>& tensors,
                          const std::vector<int>& dims);

}  // namespace kw::teacher
