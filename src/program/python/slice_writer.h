// Kernels of a task in one module.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "program/python/slice_text.h"

namespace kw {

// Kernels that were written apart, and the module that they come to stand in, may mean different
// things by one name. A slice stands at the module's level where that gives no name two meanings,
// else in a function of its own, whose functions the module calls otherwise: the kernels' own names
// and sources stay, and are what a recording of the module has.
class SliceWriter {
 public:
  // `before`: what stands in the module before the slices, as Python.
  explicit SliceWriter(const std::string& before);

  // Adds the kernel's slice, once. Its name, and those of functions among its constants, become
  // what the module calls them.
  void add(Kernel& kernel);

  // Imports, constants, functions.
  std::string text() const;

 private:
  using Names = std::map<std::string, std::string>;

  bool fits(const Names& definitions) const;
  Names put_apart(const SliceText& slice);

  const std::string before_;
  const std::set<std::string> taken_;  // names that mean something there
  Names known_;                        // at the module's level
  std::map<std::string, Names> done_;  // by source: what functions are called that are put apart
  std::set<std::string> imports_;
  std::vector<std::string> constants_, functions_;
  int apart_ = 0;
};

}  // namespace kw
