# program wrong | family: distribution | mechanism: numbers that are equal to the other operand's count as larger | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.where(x > y, torch.sin(x), torch.cos(y))


def get_inputs():
    return [torch.randn(64, 64), torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def choose(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(z_ptr + i, tl.where(x >= y, tl.sin(x), tl.cos(y)))


class ModelNew(nn.Module):
    def forward(self, x, y):
        z = torch.empty_like(x)
        choose[(16,)](x, y, z, BLOCK=256)
        return z
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def choose(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(z_ptr + i, tl.where(x > y, tl.sin(x), tl.cos(y)))


class ModelNew(nn.Module):
    def forward(self, x, y):
        z = torch.empty_like(x)
        choose[(16,)](x, y, z, BLOCK=256)
        return z
