// Results that share memory: with an argument, a parameter or each other. Who writes to one of them
// changes the other, so a candidate's may share only where the reference's do.
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// Which results share memory in `candidate` and not in `reference`; empty: none. The programs have
// as many outputs.
std::string aliasing_fault(const Program& reference, const Program& candidate);

}  // namespace kw
