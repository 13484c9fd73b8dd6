// What can be done to a Program: drop dead steps, renumber, hash, cut a fragment out, splice a
// replacement in. All are pure functions.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace kw {

// Which steps' effects reach an output (or, with `mutated_inputs`, an input that survives the
// call). Dataflow over step_reads / step_writes and storages; index by step.
std::vector<bool> live_steps(const Program& program, const std::vector<Kernel>& kernels);

// What values come from. A storage counts if the values are in it, or if a step that counts uses
// it. A step counts if it makes or writes a storage that counts. `bytes` is what these steps read
// and make. All random steps count: without one of them, the generator gives the others other
// numbers.
struct Lineage {
  std::vector<bool> steps, storages;  // by step; by storage number
  double bytes = 0;
};
Lineage lineage_of(const Program& program, const std::vector<Kernel>& kernels,
                   const std::vector<ValueId>& values);

// Drops dead steps, makes each constant right before its first use (as a recording does), and
// renumbers values and storages in order of first appearance.
Program canonical(const Program& program, const std::vector<Kernel>& kernels);
// canonical() of all four programs; unused kernels and derived tensors dropped, the rest in order
// of first launch and first use.
Task canonical(const Task& task);

std::string canonical_hash(const Task& task);
std::string structure_hash(const Task& task);
// Returns the first place where two tasks differ in what canonical_hash() looks at, as a path in
// their documents ("/forward/steps/2/op"). Empty if they are equal.
std::string difference(const Task& one, const Task& other);

// A part of a task's forward steps, as a Task without state. Its `forward` takes the values that
// flow in, parameters among them. It returns those that flow out, to other steps or to the outputs.
// Its `inputs` runs init, derive, inputs and the earlier forward steps, so that a fragment is
// verified on values that really flow there. `in_values` and `out_values` are ids in the original
// forward, in the order of the fragment's arguments and results.
struct Fragment {
  Task task;
  std::vector<int> steps;
  std::vector<ValueId> in_values;
  std::vector<ValueId> out_values;
};
// Returns the fragment of the forward steps `steps`: ascending indices of a convex set.
Fragment cut(const Task& task, const std::vector<int>& steps);
// The whole forward program as one fragment. InputError where no step makes its result.
Fragment cut_whole(const Task& task);
// What a policy is asked of a recorded model: its whole forward program in canonical form, without
// state. Prompts have its text, and models are told apart by its hashes. InputError as above.
Task asked_program(const Task& recorded);

// Returns, for each step, the earlier steps that must stay before it. These are the steps that make
// what it uses, those that read or write a storage that it writes, and those that write a storage
// that it reads. Random steps keep their order among themselves.
std::vector<std::vector<int>> step_dependencies(const Program& program,
                                                const std::vector<Kernel>& kernels);

// Returns whether no dependency path leaves the set and comes back.
bool is_convex(const std::vector<std::vector<int>>& dependencies, const std::vector<int>& steps);

// Strides of a dense tensor with the last dimension innermost.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);
// A new value like `value`, in memory of its own; nothing defines it yet.
ValueId add_value(Program& program, Value value);
// Makes a value of `derive` an output of it. Returns the input of forward that it becomes, which
// follows the inputs that are derived already.
ValueId add_derived(Task& task, ValueId derive_value);

// Replaces the steps of each fragment by its replacement's forward steps. A replacement is a Task
// without state that was recorded with the fragment's values as arguments, so its forward inputs
// are `in_values` in order. Fragments must be disjoint. Steps are ordered topologically. Throws
// InputError if two fragments depend on each other.
struct Replacement {
  Fragment fragment;
  Task task;
};
Task splice(const Task& task, const std::vector<Replacement>& replacements);
// Returns why `replacement` cannot replace the fragment's steps, or an empty text. It may have
// another number of values, or a result whose dtype, shape, strides or offset are not those that
// the other steps were recorded with.
std::string replacement_fault(const Fragment& fragment, const Task& replacement);

}  // namespace kw
