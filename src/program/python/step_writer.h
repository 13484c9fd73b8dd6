// The steps of a Program as Python statements: operators by PyTorch's own names, launches as Triton
// spells them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

// What statements of a program's operators call: "torch.relu", methods as ".view". InputError for
// an operator outside of the table.
std::set<std::string> calls_of(const Program& program);

class StepWriter {
 public:
  // Borrows both; `program` is one of `task`. Results are named t<first_value> and so on. `device`
  // is the Python for the device on which tensors are made.
  StepWriter(const Task& task, const Program& program, int first_value = 0,
             std::string device = "\"cuda\"");
  // Launches are calls of the objects _kw_launch_<n>, whose arguments are appended to `launches`,
  // and which are told to launch at `where` (host_path.h).
  void launch_by(std::vector<std::string>& launches, const std::string& where) {
    launches_ = &launches;
    where_ = where;
  }

  // Inputs must be named before steps() are written; results are named on the way.
  void name(ValueId id, const std::string& text) { names_[id] = text; }
  const std::string& name(ValueId id) const { return names_[id]; }

  // A line a step, and one for each result whose strides later steps rely on. InputError for what
  // Python cannot say.
  std::string steps(const std::string& indent);
  // The next step alone, whatever its results' strides.
  std::string statement(const Step& step);
  // What `tree` (docs/formats/task.md) makes of the program's outputs.
  std::string result(const Json& tree) const;
  // The function that the latter call; empty when there are none.
  std::string helper() const;

 private:
  std::string arg_text(const Arg& arg) const;
  bool returns_list(const AtenCall& call) const;
  std::string call_text(const AtenCall& call) const;
  // Nested lists: a reshape would be recorded as a step of its own.
  std::string constant_text(const AtenCall& call) const;
  std::string nested(const std::vector<int64_t>& shape, size_t dim, const std::vector<Arg>& data,
                     size_t& next) const;
  std::string launch_text(const Launch& launch);
  // A parameter of a kernel as it is called, which may stand for a tuple.
  struct Parameter {
    std::string name, text;
    bool constant;
    std::string base, layout;  // of a descriptor: its tensor; its shape, strides and block
  };
  std::vector<Parameter> parameters_of(const Launch& launch) const;
  // The launch as Triton spells it.
  std::string spelled_launch(const Launch& launch, const std::vector<Parameter>& parameters) const;
  // The argument for what `path` names, a parameter or an item of a tuple. `param` and `next` go on
  // behind the parameters and launch arguments that it takes.
  std::string parameter_text(const Launch& launch, const std::string& path, size_t& param,
                             size_t& next) const;
  // A descriptor takes the parameter, its shape and its strides.
  Parameter descriptor(const Launch& launch, size_t& param, size_t& next) const;

  const Task& task_;
  const Program& program_;
  // What PyTorch computes and launches or views then read by the recorded strides: attention and
  // convolutions lay their results out as the backend that they choose likes.
  std::set<ValueId> laid_out_;
  std::vector<std::string> names_;
  int next_;
  std::vector<std::string>* launches_ = nullptr;
  std::string where_;
  std::string device_;
};

}  // namespace kw
