# program wrong | family: guards | mechanism: masked elements of a load, which have no value, are summed as zeros | stage: correct | check: outputs+noop | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(-x.abs().sum(1))


def get_inputs():
    return [torch.randn(80, 37) / 8]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fade(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C)
    tl.store(y_ptr + row, tl.exp(-tl.sum(tl.abs(x), 0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((80,), device=x.device)
        fade[(80,)](x, y, 37, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fade(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=0.0)
    tl.store(y_ptr + row, tl.exp(-tl.sum(tl.abs(x), 0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((80,), device=x.device)
        fade[(80,)](x, y, 37, BLOCK=64)
        return y
