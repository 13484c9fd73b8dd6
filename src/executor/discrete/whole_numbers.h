// Changes whole numbers and flags of sources (program/inputs/sources.h). Numbers come from the
// generator of the CPU.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/aten/aten.h"
#include "program/inputs/sources.h"

namespace kw::exec {

// How far a change goes. A reference may refuse what is kBold: numbers twice where each counts
// once, zeros for lengths.
enum class Reach { kBold, kCareful };

// Changes `numbers`, which the source's step made, in place. `named` are the numbers that the
// program names. Does nothing if the change does not apply to them.
void change_source(const at::Tensor& numbers, const Source& source, SourceChange change,
                   const std::vector<int64_t>& named, Reach reach);

}  // namespace kw::exec
