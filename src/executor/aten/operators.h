// One ATen operator call, resolved once and run many times by boxed dispatch.
//
// Constants are converted to the schema's types when the call is built; a run fills in tensors
// only. `kernelwright.constant.default` is the one operator that is not PyTorch's.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw::exec {

// Splits "aten.name.overload" into "aten::name" and "overload", as the dispatcher needs them. The
// overload is empty for "default". Throws InputError if `op` has another form.
std::pair<std::string, std::string> dispatcher_name(const std::string& op);

// Throws InputError if `arg` is no number.
at::Scalar to_scalar(const Arg& arg);

// Returns true for empty, empty_like, empty_strided, new_empty and the like, which do not
// initialise their results.
bool makes_empty(const std::string& op);

class OperatorCall {
 public:
  // Throws InputError if there is no such operator, if an argument does not fit its schema, or if
  // `mutated` contradicts the schema.
  OperatorCall(const AtenCall& call, at::Device device);

  // Runs the operator on arguments from `slots`, by value number. Returns the results in order,
  // with lists flattened. The result for an absent optional tensor is undefined.
  std::vector<at::Tensor> run(std::span<const at::Tensor> slots) const;

  bool random() const { return random_; }

 private:
  struct TensorHole {  // one stack entry that is made of tensors
    enum Kind { kOne, kList, kOptionalList } kind;
    size_t entry;
    std::vector<ValueId> values;  // -1 for None in an optional list
  };
  void resolve(const AtenCall& call, at::Device device);
  void add_argument(const c10::Argument& schema, const Arg* arg, at::Device device);

  std::optional<c10::OperatorHandle> handle_;  // none for a constant
  torch::jit::Stack template_;
  std::vector<TensorHole> holes_;
  at::Tensor constant_;
  bool random_ = false;
};

}  // namespace kw::exec
