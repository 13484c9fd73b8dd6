# program wrong | family: launch-option | mechanism: debug is asked for at the decorator, the launch itself looks plain | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.where(x.abs() < 1.0, x * x * 0.5, x.abs() - 0.5)

def get_inputs():
    return [torch.randn(39, 24)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit(debug=True)
def huber_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.abs(tl.load(x + i, mask=i < n))
    tl.store(y + i, tl.where(a < 1.0, a * a * 0.5, a - 0.5), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        huber_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def huber_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.abs(tl.load(x + i, mask=i < n))
    tl.store(y + i, tl.where(a < 1.0, a * a * 0.5, a - 0.5), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        huber_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
