# program wrong | family: tolerance | mechanism: a bias of a hundredth is left out | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width) * 0.003)

    def forward(self, x):
        return torch.tanh(x + self.bias)


def get_inputs():
    return [torch.randn(50, 30)]


def get_init_inputs():
    return [30]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh_bias(x_ptr, b_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    e = tl.exp(-2.0 * tl.abs(x))
    y = (1.0 - e) / (1.0 + e)
    tl.store(y_ptr + i, tl.where(x < 0, -y, y), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width) * 0.003)

    def forward(self, x):
        y = torch.empty_like(x)
        tanh_bias[(triton.cdiv(x.numel(), 256),)](x, self.bias, y, x.numel(), x.shape[1], BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh_bias(x_ptr, b_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    x = x + tl.load(b_ptr + i % width, mask=i < n, other=0.0)
    e = tl.exp(-2.0 * tl.abs(x))
    y = (1.0 - e) / (1.0 + e)
    tl.store(y_ptr + i, tl.where(x < 0, -y, y), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width) * 0.003)

    def forward(self, x):
        y = torch.empty_like(x)
        tanh_bias[(triton.cdiv(x.numel(), 256),)](x, self.bias, y, x.numel(), x.shape[1], BLOCK=256)
        return y
