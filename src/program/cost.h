// Floating-point operations and memory traffic of aten steps. Coverage's shares and rooflines are
// computed from them. The constants of each operator are in the operator table (src/ops).
#pragma once

#include "program/program.h"

namespace kw {

struct Cost {
  double flops = 0;
  double bytes = 0;  // each distinct operand read once, each result written once; views are free
  Cost& operator+=(const Cost& other);
};

Cost step_cost(const Program& program, const Step& step);  // zero for launches
Cost program_cost(const Program& program);                 // sum over aten steps

// Returns whether a CPU can run a task's forward in a moment: nothing is launched, and there are at
// most 1e11 operations.
bool runs_on_cpu(const Task& task);

// Whether a step makes a tensor from nothing, or fills one with a number: torch.zeros, or zero_.
bool fills_memory(const Step& step);

// Elements of all rows that bags of an embedding take; 0 of other operators.
double bag_elements(const Program& program, const AtenCall& call);

}  // namespace kw
