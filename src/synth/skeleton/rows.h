// Which rows of the operator table synthesised calls are made of, and why the others are in none.
#pragma once

#include <string_view>
#include <vector>

#include "synth/skeleton/synth_operators.h"

namespace kw {

struct OperatorRow;

// Returns the rows of the operator table that a call is made of.
const std::vector<const OperatorRow*>& rows_of(const SynthOperator& op);

// Returns why no call is made of a row of the operator table; empty if one is.
std::string_view not_drawn(const OperatorRow& row);

}  // namespace kw
