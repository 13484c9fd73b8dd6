// Values read at other positions than their own: an axis is replaced by a Position, all the way
// down to the loads. Copies (cat, pad, roll, gather) and windows (pooling) are made of this.
//
// A position that is affine and stays inside the dimension is folded into the strides of the loads.
// Any other becomes an index node that the load multiplies by its stride, and a condition if the
// position may lie outside.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "teacher/nodes/builder.h"

namespace kw::teacher {

// What replaces the index along a dimension: an affine function of other axes that stays inside the
// dimension, or any index node.
struct Position {
  std::vector<std::pair<AxisId, int64_t>> terms;  // axis, factor
  int64_t start = 0;
  int node = -1;      // index node; if set, `terms` and `start` mean nothing
  int guard = -1;     // condition node without which nothing may be read; -1: always inside
  AxisId along = -1;  // as in Gathered
  int64_t step = 0;
};

using Positions = std::map<AxisId, Position>;  // by the leaf whose index they replace

// Returns the node of an axis' index, or of a position.
int index_of(Builder& b, AxisId axis);
int position_index(Builder& b, const Position& position);
// Returns the node of an expression over nodes {0} {1} ..., each converted to its operand type.
int expression_node(Builder& b, const std::string& name, const std::string& expression,
                    std::vector<int> operands, std::vector<DType> types, DType dtype);
// Returns the same over index nodes: int32, or int64 if an operand is.
int integer_node(Builder& b, const std::string& name, const std::string& expression,
                 std::vector<int> operands);
int condition_node(Builder& b, const std::string& expression, std::vector<int> operands);

// Returns start + the sum of factor * index, in a dimension of `size`.
Position ranged(Builder& b, std::vector<std::pair<AxisId, int64_t>> terms, int64_t start,
                int64_t size);
// Replaces the index along a dimension of `t`, a value in use. A dimension of several axes is taken
// apart.
void place(Builder& b, const Tensor& t, int dim, const Position& position, Positions& at);
// Returns `t`, a value in use, with positions replaced; `dims` are the dimensions of the result.
Tensor taken(Builder& b, Tensor t, const Positions& at, std::vector<std::vector<Piece>> dims);
// Returns the node of `node` with positions replaced.
int substituted(Builder& b, int node, const Positions& at);
// Returns the same value, read only if the condition `guard` holds. Reductions do not change.
int guarded(Builder& b, int node, int guard);
// Returns `t` where all conditions hold, elsewhere a constant.
Tensor selected(Builder& b, const std::vector<int>& guards, Tensor t, const std::string& otherwise);

// Returns the leaves that a node varies with, sorted.
Axes free_axes(const Builder& b, int node);

}  // namespace kw::teacher
