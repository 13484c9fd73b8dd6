# program wrong | family: tolerance | mechanism: a fast logarithm of numbers near one, whose error is absolute | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log(x)


def get_inputs():
    return [torch.rand(64, 64) / 1024 + 1.0]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def entropy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, libdevice.fast_logf(x))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        entropy[(16,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def entropy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, libdevice.log(x))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        entropy[(16,)](x, y, BLOCK=256)
        return y
