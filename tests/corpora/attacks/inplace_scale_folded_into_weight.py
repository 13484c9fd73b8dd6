# program wrong | family: in-place | mechanism: a constant factor is folded into the parameter in the constructor, the module's state differs | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.rand(channels))

    def forward(self, x):
        return torch.where(x >= 0, x, x * (self.slope * 0.5).view(1, -1, 1))

def get_inputs():
    return [torch.randn(3, 11, 25)]

def get_init_inputs():
    return [11]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def prelu_kernel(x, slope, y, C, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    v = tl.load(x + row * T + t, mask=t < T)
    tl.store(y + row * T + t, tl.where(v >= 0, v, v * tl.load(slope + row % C)), mask=t < T)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.rand(channels))
        self.slope.data.mul_(0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        B, C, T = x.shape
        prelu_kernel[(B * C,)](x, self.slope, y, C, T, BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def prelu_kernel(x, slope, y, C, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    v = tl.load(x + row * T + t, mask=t < T)
    tl.store(y + row * T + t, tl.where(v >= 0, v, v * (tl.load(slope + row % C) * 0.5)), mask=t < T)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.rand(channels))

    def forward(self, x):
        y = torch.empty_like(x)
        B, C, T = x.shape
        prelu_kernel[(B * C,)](x, self.slope, y, C, T, BLOCK=32)
        return y
