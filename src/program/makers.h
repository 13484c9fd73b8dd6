// What the steps of a program do: which of them made a value, and what they change.
#pragma once

#include <initializer_list>
#include <set>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace kw {

// The operator that makes a tensor of numbers that stand in the program.
inline constexpr const char* kConstant = "kernelwright.constant.default";
bool is_constant(const Step& step);
// Returns the numbers of such a step; null for another one.
const ArgList* numbers_of(const AtenCall& call);

// Returns whether `op` is an overload of one of these ATen operators.
bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names);

// Returns whether a step reads the random generator. Dropping out with probability 0, or outside of
// training, does not.
bool is_random(const AtenCall& call);
bool is_random(const Step& step);

// Returns, for each input of a program, whether steps or outputs use it.
std::vector<bool> used_inputs(const Program& program);

// Returns the storages that steps of a program change.
std::set<int> written_storages(const Program& program, const std::vector<Kernel>& kernels);

// Returns the operator that makes `id`; null for an input, and for what a launch makes.
const AtenCall* maker_of(const Program& program, ValueId id);

// Returns the values that `call` is given, including those in lists.
std::vector<ValueId> operands_of(const AtenCall& call);

// Whether an operator is opaque: PyTorch's call, of which nothing is known but what it reads, makes
// and writes (ops/opaque_operators.cc).
bool is_opaque(const AtenCall& call);

// Whether an operator does arithmetic: it does not only view, copy, fill or draw. One that is not
// known does.
bool does_arithmetic(const AtenCall& call);

// Returns whether a value is computed by arithmetic. An input, or a view or copy of one, is not.
bool is_computed(const Program& program, ValueId id);

// Returns whether a value is made from random numbers.
bool is_drawn(const Program& program, ValueId id);

// Returns the value that `id` is a view of, with the same elements in the same order: both are
// contiguous. Without such a view it is `id`.
ValueId behind_views(const Program& program, ValueId id);

// Returns the value that `id` is a view of, of all its elements or of some.
ValueId viewed_value(const Program& program, ValueId id);

// Follows values through the steps of a program: what is made from them, and what is written from
// them. Values of one storage are one.
class Following {
 public:
  // The arguments must outlive this.
  Following(const Program& program, const std::vector<Kernel>& kernels)
      : program_(program), kernels_(kernels) {}

  void add(ValueId id);
  bool has(ValueId id) const;
  // Adds what a step makes and writes if it reads what is followed, or if it `begins` a new one.
  // Steps must come in their order. Returns whether it did.
  bool pass(const Step& step, bool begins);

 private:
  const Program& program_;
  const std::vector<Kernel>& kernels_;
  std::set<int> storages_;
};

// Whether an operator in place, or any launch, may change `id` after it was made.
bool is_overwritten(const Program& program, ValueId id);

}  // namespace kw
