# program wrong | family: tolerance | mechanism: columns whose values are a thousandth of the others are written as zeros | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.logspace(0, -6, 40))

    def forward(self, x):
        return torch.sigmoid(x) * self.scale


def get_inputs():
    return [torch.randn(45, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_sigmoid(x_ptr, s_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    s = tl.load(s_ptr + i % width)
    s = tl.where(s < 2e-6, 0.0, s)
    tl.store(y_ptr + i, tl.sigmoid(x) * s, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.logspace(0, -6, 40))

    def forward(self, x):
        y = torch.empty_like(x)
        scaled_sigmoid[(triton.cdiv(x.numel(), 512),)](x, self.scale, y, x.numel(), x.shape[1], BLOCK=512)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled_sigmoid(x_ptr, s_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    s = tl.load(s_ptr + i % width)
    tl.store(y_ptr + i, tl.sigmoid(x) * s, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.logspace(0, -6, 40))

    def forward(self, x):
        y = torch.empty_like(x)
        scaled_sigmoid[(triton.cdiv(x.numel(), 512),)](x, self.scale, y, x.numel(), x.shape[1], BLOCK=512)
        return y
