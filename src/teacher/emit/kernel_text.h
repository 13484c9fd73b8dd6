// The text of one kernel while it is written: lines, names, parameters, and the host's call of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "teacher/emit/expr.h"

namespace kw::teacher {

class KernelText {
 public:
  explicit KernelText(std::string family) : family_(std::move(family)) {}

  // Returns a variable name that nothing in the kernel has yet, close to `hint`.
  std::string unique(const std::string& hint);

  void line(const std::string& text);
  void line(const std::string& name, const Expr& value) { line(name + " = " + value.text()); }
  void comment(const std::string& text) { line("# " + text); }
  void open(const std::string& text);  // a line after which the indentation grows
  void close() { --depth_; }

  // Parameters are added on first mention and listed in the order of their names, so that the next
  // one in the list does not depend on the code below. `host` is what the call passes; a parameter
  // that exists for the same host expression is used again. Scalars (sizes, strides) are constants
  // of the compiled kernel: a division by one becomes a multiplication, and Triton sees what is
  // contiguous. The text holds for all of their values.
  std::string pointer(const std::string& name, const std::string& host);
  std::string scalar(const std::string& hint, const std::string& host);
  // Adds a tensor descriptor (TMA): `tensor` as a matrix of rows with `stride` between them, read
  // in blocks. All but `block` are host expressions.
  std::string descriptor(const std::string& hint, const std::string& tensor,
                         const std::array<std::string, 2>& shape, const std::string& stride,
                         const std::array<int64_t, 2>& block);
  // Adds a scalar that the host also names, as a local variable (sizes that grids are made of).
  std::string size(const std::string& name, const std::string& host);
  void constexpr_parameter(const std::string& name, const std::string& host);

  // Adds a function of the module that the kernel calls or hands to tl.reduce; returns its name.
  std::string helper(const std::string& name, const std::string& parameters,
                     const std::string& body);

  void launch(std::vector<std::string> grid, int warps, int stages);
  void describe(const std::string& text) { description_ = text; }

  // Returns the kernel's final name: its family and a hash of its contents, or the name it was
  // given.
  std::string name() const;
  void rename(const std::string& name) { given_name_ = name; }
  std::string source() const;
  // Returns one statement of host code. Scalars are passed by name, so that their order does not
  // matter.
  std::string call() const;
  const std::vector<std::pair<std::string, std::string>>& locals() const { return locals_; }
  const std::map<std::string, std::string>& helpers() const { return helpers_; }  // name: source
  bool uses_libdevice() const;
  bool uses_descriptors() const { return descriptors_; }

 private:
  using Parameters = std::vector<std::pair<std::string, std::string>>;  // name, what is passed
  std::string text(const std::string& name) const;
  Parameters pointers() const;
  Parameters scalars() const;  // those that the host also names first

  std::string family_, description_, given_name_;
  std::vector<std::string> lines_;
  int depth_ = 1;
  bool lines_open_ = false;  // inside a statement that was broken
  std::set<std::string> names_;
  Parameters pointers_, scalars_, constexprs_, locals_;
  std::map<std::string, std::string> host_names_;  // host expression -> local that holds it
  std::map<std::string, std::string> helpers_;
  std::vector<std::string> grid_;
  int warps_ = 4, stages_ = 0;
  bool descriptors_ = false;
};

}  // namespace kw::teacher
