// CUDA graphs in optimized.py: forward's steps are captured once for each kind of arguments, and a
// call then costs the host one launch.
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// Why a graph must not stand for a program's forward; empty where it may. A graph writes to the
// same memory in each replay, and its results are copied from there: they must share memory with
// nothing, and forward must change nothing else.
std::string no_graph_because(const Task& task);

// The classes _kw_Graph and _kw_Graphs.
std::string graph_classes();

// The method with which a user chooses between graphs and launches, and the statement that calls it
// `graphed` where the class `base` has nothing of this name. `refused` is no_graph_because().
std::string graphed_method(const std::string& refused);
std::string graphed_name(const std::string& base);

}  // namespace kw
