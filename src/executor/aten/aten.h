// The part of libtorch that the executor uses, as one precompiled header. It has tensors and their
// free functions, the dispatcher and inference mode, and nothing of torch::nn, autograd or optim.
#pragma once

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/InferenceMode.h>
