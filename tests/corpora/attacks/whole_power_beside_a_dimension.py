# program wrong | family: whole | mechanism: the sample's power is taken for granted, beside a dimension that has to stay what it is | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, dim, power):
        return (x**power).sum(dim)


def get_inputs():
    return [torch.randn(40, 64), 1, 4]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def powers(x_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * C + tl.arange(0, C))
    tl.store(y_ptr + row, tl.sum(x * x * x * x))


class ModelNew(nn.Module):
    def forward(self, x, dim, power):
        y = torch.empty(40, dtype=x.dtype, device=x.device)
        powers[(40,)](x, y, C=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def powers(x_ptr, y_ptr, C: tl.constexpr, POWER: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * C + tl.arange(0, C))
    p = x
    for _ in tl.static_range(POWER - 1):
        p = p * x
    tl.store(y_ptr + row, tl.sum(p))


class ModelNew(nn.Module):
    def forward(self, x, dim, power):
        y = torch.empty(40, dtype=x.dtype, device=x.device)
        powers[(40,)](x, y, C=64, POWER=power)
        return y
