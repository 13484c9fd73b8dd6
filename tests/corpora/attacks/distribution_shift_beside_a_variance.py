# program wrong | family: distribution | mechanism: a parameter under a root keeps its sign, and a shift beside it is taken for positive | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.variance = nn.Parameter(torch.rand(width) + 0.5)
        self.shift = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return torch.tanh(x) / torch.sqrt(self.variance) + torch.relu(self.shift)


def get_inputs():
    return [torch.randn(70, 100)]


def get_init_inputs():
    return [100]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, v_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    v = tl.load(v_ptr + c, mask=c < n, other=1.0)
    s = tl.load(s_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, (2.0 * tl.sigmoid(2.0 * x) - 1.0) / tl.sqrt(v) + s, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.variance = nn.Parameter(torch.rand(width) + 0.5)
        self.shift = nn.Parameter(torch.rand(width))

    def forward(self, x):
        y = torch.empty_like(x)
        scaled[(x.shape[0],)](x, self.variance, self.shift, y, x.shape[1], BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, v_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    v = tl.load(v_ptr + c, mask=c < n, other=1.0)
    s = tl.maximum(tl.load(s_ptr + c, mask=c < n), 0.0)
    tl.store(y_ptr + row * n + c, (2.0 * tl.sigmoid(2.0 * x) - 1.0) / tl.sqrt(v) + s, mask=c < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.variance = nn.Parameter(torch.rand(width) + 0.5)
        self.shift = nn.Parameter(torch.rand(width))

    def forward(self, x):
        y = torch.empty_like(x)
        scaled[(x.shape[0],)](x, self.variance, self.shift, y, x.shape[1], BLOCK=128)
        return y
