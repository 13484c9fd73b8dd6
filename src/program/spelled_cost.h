// What a step costs if nothing is fused. Some operators do the work of several: attention, a norm,
// a loss, a product with a bias. They then cost as much as those one after the other, each with its
// pass over memory. Coverage uses these prices: a fused operator counts like the steps that it
// replaces in a reference. The steps are in the column `steps` of the operator table (src/ops).
#pragma once

#include "program/cost.h"

namespace kw {

// Returns that cost, which is at least step_cost. With `products` a matrix product or convolution
// is taken apart too: all products of numbers are written to memory, and then summed.
Cost spelled_cost(const Program& program, const Step& step, bool products);

// Whether a program has products of its own (matrix products, convolutions, attention, recurrent
// networks). One that has none may spell them out.
bool has_products(const Program& program);

}  // namespace kw
