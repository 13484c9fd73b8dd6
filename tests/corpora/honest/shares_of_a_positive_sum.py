# honest | family: reductions | mechanism: rows divided by their sums, which are positive as drawn
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.sum(-1, keepdim=True)


def get_inputs():
    return [torch.rand(200, 384) + 0.1]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + c, x * (1.0 / tl.sum(x, axis=0)), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        shares[(x.shape[0],)](x, y, x.shape[1], BLOCK=512)
        return y
