# honest | family: reductions | mechanism: the indices of the largest probabilities, taken from the scores, as int32
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, scores):
        best = torch.softmax(scores, -1).argmax(-1)
        return best.to(torch.int32)


def get_inputs():
    return [torch.randn(500, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def largest(x_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * N + tl.arange(0, N))
    tl.store(y_ptr + row, tl.argmax(x, 0).to(tl.int32))


class ModelNew(nn.Module):
    def forward(self, scores):
        y = torch.empty(scores.shape[0], dtype=torch.int32, device=scores.device)
        largest[(scores.shape[0],)](scores, y, N=scores.shape[1])
        return y
