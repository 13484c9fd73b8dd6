# program wrong | family: excess | mechanism: two gigabytes of scratch for a few elements | stage: correct | check: work
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2.0 + 1.0


def get_inputs():
    return [torch.randn(64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, s_ptr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(s_ptr + c, tl.load(x_ptr + c) * 2.0)


@triton.jit
def add_one(s_ptr, y_ptr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(y_ptr + c, tl.load(s_ptr + c) + 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scratch = torch.empty(1 << 29, device=x.device)
        double[(1,)](x, scratch, BLOCK=64)
        add_one[(1,)](scratch, y, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, s_ptr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(s_ptr + c, tl.load(x_ptr + c) * 2.0)


@triton.jit
def add_one(s_ptr, y_ptr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(y_ptr + c, tl.load(s_ptr + c) + 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scratch = torch.empty(1 << 10, device=x.device)
        double[(1,)](x, scratch, BLOCK=64)
        add_one[(1,)](scratch, y, BLOCK=64)
        return y
