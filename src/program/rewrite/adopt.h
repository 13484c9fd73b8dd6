// The Program that a verdict on a stranger's file is about.
//
// A candidate's file is a description that yields a Program. adopt() keeps what the candidate
// computes, and takes all else from the reference: its source, constructor, state, inputs and
// arguments. What the file does to its weights, and how it behaves elsewhere, so has no effect.
#pragma once

#include <optional>
#include <string>

#include "program/program.h"

namespace kw {

struct Adoption {
  std::optional<Task> task;  // in canonical form
  std::string fault;         // why there is none
};

// Returns the reference with the derive and forward Programs and the kernels of the candidate.
//
// Every tensor of the candidate's state that it uses is found in the reference's state:
//   1. by a name that both have, if dtype, shape and strides agree;
//   2. else by equal lineage: equal steps made both. Of several, the k-th to be drawn is the k-th.
//      A wrong match makes a wrong program, which trials reject;
//   3. else as steps of the candidate's constructor from such tensors and literals. These steps
//      become steps of `derive`, so that a packed weight follows the weight.
// It is a fault if a random operator is left among these steps.
//
// Tables that either of them uses are premises (tables.h), and so are properties of the device that
// either of them read. It is a fault if the candidate read a tensor of the state on the host that
// the reference makes in another way.
//
// A derived tensor that forward writes (scratch) is made in each call. So no call finds what an
// earlier one left, and threads and streams share nothing that is written.
//
// `candidate` has compiled kernels, which say what launches write. Its result and outputs are kept
// as they are: whether they are the reference's is for the verdict to say.
Adoption adopt(const Task& reference, const Task& candidate);

}  // namespace kw
