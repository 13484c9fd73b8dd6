# program wrong | family: tolerance | mechanism: a fast sine of small angles, whose error is absolute | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sin(x)


def get_inputs():
    return [torch.randn(64, 64) / 1024]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def wave(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, libdevice.fast_sinf(tl.load(x_ptr + i)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        wave[(16,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def wave(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, libdevice.sin(tl.load(x_ptr + i)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        wave[(16,)](x, y, BLOCK=256)
        return y
