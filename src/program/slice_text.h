// Sources of kernels (slices, docs/formats/task.md) as text: what they define, under which names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

// Header lines (imports, constants) and functions with their decorators.
struct SliceText {
  std::vector<std::string> header, functions;
};
SliceText take_apart(const std::string& source);

// Constants and functions, by name.
std::map<std::string, std::string> definitions(const SliceText& slice);

// The source with other names for constants and functions. Strings, comments, attributes, keywords
// of calls, and parameters, which hide what is outside, stay.
std::string with_names(const std::string& source, const std::map<std::string, std::string>& names);

// Kernels that were written apart may mean different things by one name. Where one before does,
// all that a kernel's slice defines gets names of its own ("v2_" and the old one: names keep their
// order). What is compiled stays.
void name_apart(std::vector<Kernel>& kernels);

}  // namespace kw
