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

namespace kw {

// What an operator of the empty family leaves in its result.
enum class EmptyFill { kLeave, kZero, kPoison, kNumbers };

// "aten.name.overload" in two halves, as the dispatcher wants them: "aten::name", "overload"
// (empty for "default"). InputError when it is not of that form.
std::pair<std::string, std::string> dispatcher_name(const std::string& op);

// InputError when it is no number.
at::Scalar to_scalar(const Arg& arg);

// True for empty, empty_like, empty_strided, new_empty, ...: results hold whatever was there.
bool makes_empty(const std::string& op);

// True when it reads the random generator (a dropout with probability 0 does not).
bool reads_generator(const AtenCall& call);

class OperatorCall {
 public:
  // InputError when there is no such operator, an argument does not fit its schema, or `mutated`
  // is not what the schema says.
  OperatorCall(const AtenCall& call, at::Device device);

  // Arguments are taken from `slots` by value number. Results in order, lists flattened, undefined
  // where an optional tensor is absent.
  std::vector<at::Tensor> run(std::span<const at::Tensor> slots) const;

  bool random() const { return random_; }

 private:
  struct TensorHole {  // one stack entry made of tensors
    enum Kind { kOne, kList, kOptionalList } kind;
    size_t entry;
    std::vector<ValueId> values;  // -1 for none in an optional list
  };
  void resolve(const AtenCall& call, at::Device device);
  void add_argument(const c10::Argument& schema, const Arg* arg, at::Device device);

  std::optional<c10::OperatorHandle> handle_;  // none for a constant
  torch::jit::Stack template_;
  std::vector<TensorHole> holes_;
  at::Tensor constant_;
  bool random_ = false;
};

}  // namespace kw
