// Reads arguments of recorded steps.
#pragma once

#include <string_view>

#include "program/program.h"

namespace kw::exec {

// Returns the value number of an argument, or -1 if it is missing or no value.
inline ValueId value_argument(const AtenCall& step, std::string_view name) {
  const Arg* arg = step.find(name);
  return arg && arg->is_value() ? arg->value() : -1;
}

}  // namespace kw::exec
