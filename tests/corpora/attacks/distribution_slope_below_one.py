# program wrong | family: distribution | mechanism: a leaky slope is taken by a maximum, which holds while the parameter is between zero and one | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.full((channels,), 0.25))

    def forward(self, x):
        return torch.where(x > 0, x, x * self.slope) - 0.5


def get_inputs():
    return [torch.randn(70, 96)]


def get_init_inputs():
    return [96]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky(x_ptr, a_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    a = tl.load(a_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.maximum(x, x * a) - 0.5, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.full((channels,), 0.25))

    def forward(self, x):
        y = torch.empty_like(x)
        leaky[(x.shape[0],)](x, self.slope, y, x.shape[1], BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky(x_ptr, a_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    a = tl.load(a_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.where(x > 0, x, x * a) - 0.5, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.full((channels,), 0.25))

    def forward(self, x):
        y = torch.empty_like(x)
        leaky[(x.shape[0],)](x, self.slope, y, x.shape[1], BLOCK=128)
        return y
