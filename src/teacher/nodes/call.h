// The operator call that is being lowered: its arguments and the results that it must give.
//
// A Call lives for one step. Reading an argument of another kind than asked for, or a tensor that
// was overwritten, throws Refusal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "teacher/nodes/builder.h"
#include "teacher/nodes/values.h"

namespace kw::teacher {

class Call {
 public:
  // `call` is the functional form of the step: "aten.add.Tensor" for x.add_(y).
  Call(Builder& b, Values& values, const AtenCall& call) : b_(b), values_(values), call_(call) {}

  const std::string& op() const { return call_.op; }  // "aten.add.Tensor"
  std::string base() const;                           // "aten.add"

  // Arguments by the names of the schema. Functions with an `otherwise` return it if the argument
  // is missing or None.
  const Arg* arg(std::string_view name) const { return call_.find(name); }  // null if missing
  bool present(std::string_view name) const;                                // and not None
  Tensor tensor(const Arg& arg) const;
  Tensor operand(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  // Returns a list of integers, or one as a list; empty if missing or None.
  std::vector<int64_t> integers(std::string_view name) const;
  // Returns dimensions to reduce, sorted; all of them if the call names none.
  std::vector<int> dims_argument(std::string_view name, int rank) const;
  // Returns a dimension of a tensor of `rank`, of which negative numbers count from the end.
  int wrap(int64_t dim, int rank) const;
  // Returns a number as Triton code of a register type.
  std::string literal(const Arg& arg, DType dtype) const;

  size_t results() const { return call_.results.size(); }
  bool wants(size_t index) const;    // there is such a result
  bool is_used(size_t index) const;  // and a step or the fragment's result has it
  // Returns what was recorded of a result; Refusal if there is none.
  const Value& result_value(size_t index = 0) const;
  // Gives a result. Nothing happens if it is not wanted.
  void set_result(size_t index, Tensor t);

  bool overwrites() const { return !call_.mutated.empty(); }  // the call writes in place
  // The memory of a tensor argument holds `t` from here on.
  void overwrite_argument(std::string_view name, Tensor t);
  // Returns what was recorded of a tensor argument.
  const Value& argument_value(const Arg& arg) const {
    return values_.program().values[arg.value()];
  }

 private:
  Builder& b_;
  Values& values_;
  const AtenCall& call_;
};

}  // namespace kw::teacher
