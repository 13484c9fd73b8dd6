# program wrong | family: whole | mechanism: a slope among the arguments is taken to be the sample's | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, slope):
        return torch.where(x > 0, x, x * slope)


def get_inputs():
    return [torch.randn(64, 64), 0.2]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky(x_ptr, y_ptr, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.where(x > 0, x, x * 0.2))


class ModelNew(nn.Module):
    def forward(self, x, slope):
        y = torch.empty_like(x)
        leaky[(16,)](x, y, slope, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky(x_ptr, y_ptr, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.where(x > 0, x, x * slope))


class ModelNew(nn.Module):
    def forward(self, x, slope):
        y = torch.empty_like(x)
        leaky[(16,)](x, y, slope, BLOCK=256)
        return y
