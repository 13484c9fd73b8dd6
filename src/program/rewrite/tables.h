// Tables: state that is the same in every model of a class, such as sines of positions or a causal
// mask. Kernels may take a table's contents for granted. So an export compares it with what the
// constructor makes before it runs them (its premises).
#pragma once

#include <vector>

#include "program/program.h"

namespace kw {

// Returns, for each entry of the state, whether it is a table. A table is a buffer or a plain
// attribute that the constructor makes without random numbers, kernels and parameters, and that
// forward does not write. A floating buffer of equal numbers is none: such are running statistics,
// which training changes. But what forward was told on the host is a table: it is marked as a
// premise.
std::vector<bool> tables(const Task& task);

// Returns the floating entries of the state that are no tables. Trials change them.
std::vector<int> varied_state(const Task& task);

// Marks the tables that forward or derive uses as premises, besides those that are marked.
void mark_premises(Task& task);

// Returns the steps of the constructor that make the premises, which are the outputs in order.
// InputError if one is no table.
Program premises_of(const Task& task);

}  // namespace kw
