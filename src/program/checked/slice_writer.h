// Kernels of a task in one module.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "program/checked/slice_text.h"
#include "program/program.h"

namespace kw {

// Puts slices (the source of kernels with what it needs) into one module, although slices and
// module may mean different things by one name.
//
// A slice is written at the module's level if no name then has two meanings. Otherwise it is
// written in a separate function, and the module calls that slice's functions by other names. The
// kernels' names and sources stay the same, and a recording of the module has them.
class SliceWriter {
 public:
  // `before`: the module's Python before the slices. Its names stay what they are, and so do those
  // of is_used_by_writer().
  explicit SliceWriter(const std::string& before);

  // Adds the kernel's slice, once. Its name, and those of functions among its constants, become
  // what the module calls them. InputError for a name that is no function of the slice, and for a
  // parameter that the kernel does not have.
  void add(Kernel& kernel);

  // Imports, constants, functions.
  std::string text() const;

 private:
  using Names = std::map<std::string, std::string>;

  struct Done {
    Names called;                                             // what the module calls its functions
    std::map<std::string, std::set<std::string>> parameters;  // of each
  };

  bool fits(const Names& definitions) const;
  void put_here(const SliceText& slice, const Names& definitions);
  Names put_apart(const SliceText& slice);

  const std::string before_;
  const std::set<std::string> taken_;  // names that mean something there
  Names known_;                        // at the module's level
  std::map<std::string, Done> done_;   // by source
  std::set<std::string> imports_;
  std::vector<std::string> constants_, functions_;
  int apart_ = 0;
};

}  // namespace kw
