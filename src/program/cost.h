// Floating-point operations and memory traffic of aten steps: the physical work that coverage
// shares and rooflines are made of. Source of the per-operator constants: src/ops table.
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

// The elements of what an operator runs over and never writes: of distances all differences, of
// bags all rows that they take. 0 where that is one of its tensors.
double unwritten_elements(const Program& program, const AtenCall& call);

}  // namespace kw
