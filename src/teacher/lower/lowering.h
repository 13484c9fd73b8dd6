// Fragment -> Graph. Walks the steps of a fragment's forward Program and writes each as loop-level
// nodes: views become index maps, composite operators their definitions. Each operator has a rule
// (rules.h). What no rule writes is refused (Refusal), and every result is checked against the
// recorded shape and dtype.
#pragma once

#include <set>

#include "teacher/graph/loop_ir.h"

namespace kw::teacher {

// What is stored in memory between kernels, so that the parts before and after it are separate
// kernels.
struct Stored {
  bool reductions = false;   // what a reduction leaves, before other rows are made of it
  std::set<ValueId> values;  // results of steps; those of the fragment then need no copy
};

// Throws Refusal if the fragment holds something that the teacher cannot write.
Graph lower(const Task& task, const Stored& stored = {});

}  // namespace kw::teacher
