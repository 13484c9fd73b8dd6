// Weights of recurrent networks as cuDNN likes them.
#pragma once

#include <vector>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw {

// Puts the weights of each LSTM, GRU and RNN of `program` that are inputs of it one behind the
// other in one piece of memory, as torch.nn.LSTM.flatten_parameters does in a user's process; cuDNN
// copies them in every call otherwise. `inputs`: of the program, the first ones at least; those
// that are weights are set to their new place. Nothing happens to weights elsewhere than on a GPU,
// that share memory, or that cuDNN refuses.
void flatten_recurrent_weights(const Program& program, const std::vector<at::Tensor>& inputs);

}  // namespace kw
