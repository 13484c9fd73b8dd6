// A program's values and steps as plain text for people. The caller must escape it.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

std::string shape_text(const Value& value);             // "fp32 4×8"; a scalar: "fp32 scalar"
std::string steps_text(const std::vector<int>& steps);  // "3–7, 9" of ascending indices
std::string ellipsis(const std::string& text, size_t length);  // at most `length` code points
size_t code_points(const std::string& text);

// One tensor among the arguments of a step.
struct TensorArgument {
  std::string role;  // name in the operator's schema, or of the kernel's parameter
  ValueId value = -1;
};

// Borrows the task, which must stay. Immutable; any thread.
class StepText {
 public:
  explicit StepText(const Task& task);

  const Task& task() const { return *task_; }
  const Program& program() const { return task_->forward; }
  // Parameters and arguments by their own names, results as t0, t1, ...
  const std::string& name(ValueId id) const { return names_[id]; }
  // True for state and what derives from it: forward inputs that are not arguments of a call.
  bool is_state(ValueId id) const { return is_state_[id]; }

  std::string op(int step) const;          // "linear"; the kernel's name for a launch
  std::string attributes(int step) const;  // arguments other than tensors: "dim=-1, keepdim=True"
  std::vector<TensorArgument> operands(int step) const;
  std::string line(int step) const;  // "t2 = linear(x, fc.weight)"
  bool is_view(int step) const;
  bool is_computing(int step) const;  // launches are

 private:
  std::string arg_text(const Arg& arg) const;

  const Task* task_;
  std::vector<std::string> names_;
  std::vector<bool> is_state_;
};

}  // namespace kw
