# program wrong | family: whole | mechanism: limits in a tuple are taken to be the sample's | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, limits):
        return x.clamp(limits[0], limits[1]) * 2.0


def get_inputs():
    return [torch.randn(64, 64), (-0.5, 0.8)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clamp(x_ptr, y_ptr, low, high, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(tl.load(x_ptr + i), low), high) * 2.0)


class ModelNew(nn.Module):
    def forward(self, x, limits):
        y = torch.empty_like(x)
        clamp[(16,)](x, y, -0.5, 0.8, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clamp(x_ptr, y_ptr, low, high, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(tl.load(x_ptr + i), low), high) * 2.0)


class ModelNew(nn.Module):
    def forward(self, x, limits):
        y = torch.empty_like(x)
        clamp[(16,)](x, y, limits[0], limits[1], BLOCK=256)
        return y
