# program wrong | family: kernel-body | mechanism: a function defined inside the kernel, by a lambda | stage: compile | check: slice
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.hardswish(x)


def get_inputs():
    return [torch.randn(900)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hardswish(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    gate = lambda v: tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0) / 6.0
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * gate(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        hardswish[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate(v):
    return tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0) / 6.0


@triton.jit
def hardswish(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, x * gate(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        hardswish[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
