# file lies | family: autotune | mechanism: the configurations are right for the first launch's key, one of them wrong for the second's
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.relu(x).sum(dim=1), torch.relu(y).sum(dim=1)


def get_inputs():
    return [torch.randn(70, 40), torch.randn(66, 80)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"COLS": 128}, num_warps=4), triton.Config({"COLS": 64}, num_warps=2)],
    key=["N"],
)
@triton.jit
def relu_sum(x_ptr, out_ptr, N, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + row * N + c, mask=c < N, other=0.0)
    tl.store(out_ptr + row, tl.sum(tl.maximum(x, 0.0), axis=0))


def reduce(x):
    out = torch.empty(x.shape[0], device=x.device)
    relu_sum[(x.shape[0],)](x, out, x.shape[1])
    return out


class ModelNew(nn.Module):
    def forward(self, x, y):
        return reduce(x), reduce(y)
