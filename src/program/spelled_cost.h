// What a step costs where nothing is fused: an operator that does the work of several (attention,
// a norm, a loss, a bias within a product) costs what these do one after the other, each with its
// pass over memory. Coverage prices programs so, that a fused operator of PyTorch's is worth the
// steps of a reference that it replaces. Source of the steps: src/ops table, `steps`.
#pragma once

#include "program/cost.h"

namespace kw {

// At least step_cost. With `products` a matrix product or convolution is spelled out too: all
// multiplications to memory, then their sums.
Cost spelled_cost(const Program& program, const Step& step, bool products);

// Whether a program has products of its own (matrix products, convolutions, attention, recurrent
// networks). One that has none may spell them out.
bool has_products(const Program& program);

}  // namespace kw
