// What a candidate chooses by itself must not decide whether it is judged: how many programs and
// kernels it launches, and how much memory it takes. Far more than the reference's work is a fault
// of the candidate's, found by count and never by time. What a launch does inside is counted where
// it is interpreted (executor/aten/backend.h, limit_work()).
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// Returns what a candidate has far too much of, in one line; empty if it has not. It may have
//
// - 4096 launches, and 64 for each step of the reference, where a step is one of a recurrent
//   operator's time steps, too;
// - 2^20 programs, and 64 for each byte that the reference reads or writes;
// - 2^28 bytes of new memory, and 64 for each byte that the reference reads or writes.
std::string excess(const Task& reference, const Task& candidate);

}  // namespace kw
