# program wrong | family: distribution | mechanism: a remainder is taken for one turn at most | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.remainder(x, 50.0) * 2


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
    y = 2 * tl.where(x < 0, x + 50.0, x)
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
    y = 2 * (x - 50.0 * tl.floor(x / 50.0))
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, y, N=4096, BLOCK=256)
        return y
