// The module around the kernels: imports, and ModelNew, whose forward makes the results' memory and
// launches the kernels.
#pragma once

#include <string>

#include "policy/teacher/family.h"
#include "program/program.h"

namespace kw::teacher {

// Refusal when the arguments or the result have a structure that is not written.
std::string module_text(const Task& task, const Graph& graph, const std::vector<Written>& written);

// "linear, silu, mul": the steps of a fragment that a graph computes, for people.
std::string operator_list(const Program& program, const Graph& graph);

}  // namespace kw::teacher
