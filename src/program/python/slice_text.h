// Sources of kernels (slices, docs/formats/task.md) as text: what they define. Slices of strangers'
// kernels are Python that the slicer understood, and may be laid out in any way.
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
  };
  std::vector<Part> imports, constants, functions;
};
// InputError where a function has no name.
SliceText take_apart(const std::string& source);

// What the slice gives a meaning: imports, constants and functions, by name.
std::map<std::string, std::string> definitions(const SliceText& slice);

// Names in Python text, without those of attributes.
std::set<std::string> names_in(const std::string& python);

}  // namespace kw
