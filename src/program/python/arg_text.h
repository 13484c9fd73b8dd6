// An argument of an operator as text.
#pragma once

#include <functional>
#include <string>

#include "program/program.h"

namespace kw {

// How the parts of an argument are spelled that readers and Python want differently.
struct ArgSpelling {
  std::function<std::string(ValueId)> value;  // the name of a value
  std::string (*number)(double);
  std::string (*text)(const std::string&);
  std::string torch;  // before PyTorch's names of types and layouts: "torch."
  std::string device = "\"cuda\"";
};

std::string arg_text(const Arg& arg, const ArgSpelling& spelling);

}  // namespace kw
