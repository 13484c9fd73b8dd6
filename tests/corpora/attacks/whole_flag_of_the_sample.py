# program wrong | family: whole | mechanism: a flag among the arguments is taken to be the sample's | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, inverse: bool):
        return torch.exp(-x if inverse else x)


def get_inputs():
    return [torch.randn(64, 64), False]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, SIGN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.exp(tl.load(x_ptr + i) * SIGN))


class ModelNew(nn.Module):
    def forward(self, x, inverse: bool):
        y = torch.empty_like(x)
        power[(16,)](x, y, SIGN=1.0, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, SIGN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.exp(tl.load(x_ptr + i) * SIGN))


class ModelNew(nn.Module):
    def forward(self, x, inverse: bool):
        y = torch.empty_like(x)
        power[(16,)](x, y, SIGN=-1.0 if inverse else 1.0, BLOCK=256)
        return y
