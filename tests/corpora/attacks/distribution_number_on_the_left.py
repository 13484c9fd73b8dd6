# program wrong | family: distribution | mechanism: a branch is left out whose threshold is the left operand | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.where(torch.tensor(5000.0) < x * x, torch.sign(x), torch.sin(x))


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
    tl.store(y_ptr + i, tl.sin(x))


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
    tl.store(y_ptr + i, tl.where(5000.0 < x * x, tl.where(x > 0, 1.0, -1.0), tl.sin(x)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
