# program wrong | family: distribution | mechanism: the sign of a number that is shifted far is taken for what all draws have | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sign(x - 500.0) * x


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0)
    y = -x
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, y, N=4096, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0)
    d = x - 500.0
    y = tl.where(d > 0, x, tl.where(d < 0, -x, 0.0))
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, y, N=4096, BLOCK=256)
        return y
