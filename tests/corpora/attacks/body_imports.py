# program wrong | family: kernel-body | mechanism: the kernel's body imports a module of Python's | stage: compile | check: slice
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.abs().pow(1.5)


def get_inputs():
    return [torch.randn(17, 51)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    import os
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.abs(tl.load(x_ptr + i, mask=i < n, other=0.0))
    tl.store(y_ptr + i, x * tl.sqrt(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        power[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.abs(tl.load(x_ptr + i, mask=i < n, other=0.0))
    tl.store(y_ptr + i, x * tl.sqrt(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        power[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
