# program wrong | family: distribution | mechanism: softplus is computed without its threshold, which no draw reaches | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.softplus(x, beta=0.002, threshold=2.0)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.log(1.0 + tl.exp(x * 0.002)) / 0.002)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    scaled = x * 0.002
    tl.store(y_ptr + i, tl.where(scaled > 2.0, x, tl.log(1.0 + tl.exp(scaled)) / 0.002))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
