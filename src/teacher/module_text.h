// The module around the kernels: imports, and ModelNew, whose forward makes the results' memory and
// launches the kernels.
#pragma once

#include <string>

#include "program/program.h"
#include "teacher/family/family.h"
#include "teacher/teacher.h"

namespace kw::teacher {

// Throws Refusal if the arguments or the result have a structure that is not written.
std::string module_text(const Task& task, const Graph& graph, const std::vector<Written>& written);

// Returns statements that make the memory which a part's kernels store into.
std::vector<std::string> memory_texts(const Graph& part, const std::set<std::string>& in_place);

// Returns the steps of a fragment that a graph computes, for people: "linear, silu, mul". Or the
// values that its kernels hold in registers and did not load, each on a separate line of the
// kernel: "t3, t4, t6".
std::string operator_list(const Program& program, const Graph& graph);
std::string value_list(const Program& program, const Graph& graph, int first_name);

// Gives the names of the fragment's values to what a graph computes and to the memory that holds
// it, and numbers to kernels, equal ones the same.
void name_values(const Program& program, int first_name, Graph& graph);
void name_kernels(int first_name, std::vector<Written>& written);

}  // namespace kw::teacher
