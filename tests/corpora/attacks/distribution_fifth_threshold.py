# program wrong | family: distribution | mechanism: of five branches for larger and larger numbers the last is left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        y = x
        y = torch.where(x > 70.0, -x, y)
        y = torch.where(x > 300.0, x * 0.5, y)
        y = torch.where(x > 1200.0, x + 7, y)
        y = torch.where(x > 5000.0, -2 * x, y)
        y = torch.where(x > 20000.0, x * 0.25, y)
        return y


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
def point(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = x
    y = tl.where(x > 70.0, -x, y)
    y = tl.where(x > 300.0, x * 0.5, y)
    y = tl.where(x > 1200.0, x + 7, y)
    y = tl.where(x > 5000.0, -2 * x, y)
    tl.store(y_ptr + i, y)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = x
    y = tl.where(x > 70.0, -x, y)
    y = tl.where(x > 300.0, x * 0.5, y)
    y = tl.where(x > 1200.0, x + 7, y)
    y = tl.where(x > 5000.0, -2 * x, y)
    y = tl.where(x > 20000.0, x * 0.25, y)
    tl.store(y_ptr + i, y)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
