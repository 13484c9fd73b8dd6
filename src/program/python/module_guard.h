// How an export finds out that a module of its model is another than recorded (`modules` of
// docs/formats/task.md).
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// The function _kw_change, and those that it calls.
std::string change_function();

// The attribute _kw_modules of the class, which _kw_change takes.
std::string module_rows(const TaskSource& source);

}  // namespace kw
