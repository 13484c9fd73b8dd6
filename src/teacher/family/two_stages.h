// Reduces rows of a product that are wider than a tile in two stages. A program reduces the columns
// of its tile while they are in registers, and a later kernel joins what the tiles of a row found.
// So the product never reaches memory, as in a loss over a large vocabulary or a nearest neighbour.
#pragma once

#include <cstdint>
#include <optional>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// Returns the graph with every reduction over a product's columns taken apart: one over tiles of
// `columns` columns each (Graph::part), through scratch memory, and one over those. Returns nothing
// if the graph has no such reductions or something else needs the product. It also returns nothing
// if what a tile finds depends on the whole row in a way that cannot be put right afterwards. Rows
// that one tile holds make one part each. A pure function.
//
// How each kind of reduction is joined:
//
//   sums, products, extrema   by the same reduction
//   first positions           of the tiles that hold the extremum, the first
//   sum of exp(x - s)         of a tile relative to its own maximum s_t; the join weighs by
//                             exp(s_t - s) (Milakov and Gimelshein, arXiv:1805.02867)
//   sum of x - s              of a tile relative to its maximum likewise; the join adds
//                             count * (s_t - s)
//   sum of (x - mean)^2       of a tile around its own mean; the join adds
//                             count * (mean_t - mean)^2 (Chan, Golub and LeVeque, 1979)
//
// Values reduced over other axes go through scratch memory, to be written by separate kernels. They
// are a norm in front of the product, a dot of single columns, or a mean over rows after it.
std::optional<Graph> in_two_stages(const Graph& graph, int64_t columns);

}  // namespace kw::teacher
