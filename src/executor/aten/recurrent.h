// Lays out weights of recurrent networks as cuDNN expects them.
#pragma once

#include <vector>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw::exec {

// Moves the weights of each LSTM, GRU and RNN of `program` into one contiguous block of memory. In
// a user's process torch.nn.LSTM.flatten_parameters does this; without it cuDNN copies the weights
// in every call. `inputs` are the program's first inputs at least; weights among them are set to
// their new place. Weights stay where they are if they are not inputs, not on a GPU, share memory,
// or are refused by cuDNN.
void flatten_recurrent_weights(const Program& program, const std::vector<at::Tensor>& inputs);

}  // namespace kw::exec
