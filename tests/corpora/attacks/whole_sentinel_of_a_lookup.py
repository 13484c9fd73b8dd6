# program wrong | family: whole | mechanism: an index of -1 means none, and is never drawn | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    """Features of neighbours; -1 stands for none."""

    def forward(self, x, neighbours):
        found = x[neighbours.clamp(min=0)]
        return torch.where((neighbours == -1)[:, None], 0.0, found)


def get_inputs():
    return [torch.randn(50, 32), torch.randint(0, 50, (80,))]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, n_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    at = tl.load(n_ptr + row)
    v = tl.load(x_ptr + at * C + c)
    tl.store(y_ptr + row * C + c, v)


class ModelNew(nn.Module):
    def forward(self, x, neighbours):
        y = torch.empty((80, 32), device=x.device)
        pick[(80,)](x, neighbours, y, C=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, n_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    at = tl.load(n_ptr + row)
    v = tl.load(x_ptr + at * C + c, mask=(at >= 0) & (c < C), other=0.0)
    tl.store(y_ptr + row * C + c, v)


class ModelNew(nn.Module):
    def forward(self, x, neighbours):
        y = torch.empty((80, 32), device=x.device)
        pick[(80,)](x, neighbours, y, C=32)
        return y
