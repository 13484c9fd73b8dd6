// What a Task's operators cost at least, if they are computed in another order. Three rules, which
// are true of any program that computes the same:
//
// - What follows from the state alone can be made once, so it costs nothing. Memory that is only
//   filled costs nothing either.
// - Products in a row are associative. They cost as much as in their cheapest order. Transposes
//   between them do not matter. A factor of rows or columns is a diagonal matrix, and a sum or mean
//   behind them is a product with ones.
// - Products of one operand can be one product, so that the operand is read once.
#pragma once

#include <functional>

#include "program/cost.h"
#include "program/rewrite/algebra.h"

namespace kw {

using StepPrice = std::function<Cost(const Program&, const Step&)>;

// Returns one measure of that cost. Steps marked as given (algebra.h) cost nothing.
double cost_in_best_order(const Task& task, const StepPrice& price, double Cost::*measure);

}  // namespace kw
