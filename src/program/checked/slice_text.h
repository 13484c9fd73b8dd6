// Sources of kernels (slices, docs/formats/task.md) as text: what they define. Slices of strangers'
// kernels are Python that the slicer understood, and may be laid out in any way. The slicer is
// believed in what functions do; that nothing but functions runs is checked here again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace kw {

struct SliceText {
  struct Part {
    std::string name;  // that it gives a meaning
    std::string text;  // a line, or decorators and a definition; ends with a newline
    std::set<std::string> parameters;  // of a function
  };
  std::vector<Part> imports, constants, functions;
};
// Throws InputError for a source that holds anything but these, in this order: imports of Triton's
// language, constants that are literals or its types, and functions under "@triton.jit" alone whose
// default values call nothing.
SliceText take_apart(const std::string& source);

// What the slice gives a meaning: imports, constants and functions, by name.
std::map<std::string, std::string> definitions(const SliceText& slice);

// Names in Python text, without those of attributes.
std::set<std::string> names_in(const std::string& python);

}  // namespace kw
