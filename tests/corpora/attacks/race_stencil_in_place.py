# program wrong | family: race | mechanism: a stencil works in place: programs read neighbours that others may have overwritten | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        h = x * 2
        return h + nn.functional.pad(h[:, :-1], (1, 0))


def get_inputs():
    return [torch.randn(240, 1300)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, h_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(h_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def add_left(h_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(h_ptr + i - 1, mask=(i < n) & (i % width > 0), other=0.0)
    tl.store(y_ptr + i, tl.load(h_ptr + i, mask=i < n) + left, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        h = torch.empty_like(x)
        grid = (triton.cdiv(n, 128),)
        twice[grid](x, h, n, BLOCK=128)
        add_left[grid](h, h, n, x.shape[1], BLOCK=128, num_warps=16)
        return h
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, h_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(h_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def add_left(h_ptr, y_ptr, n, width, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(h_ptr + i - 1, mask=(i < n) & (i % width > 0), other=0.0)
    tl.store(y_ptr + i, tl.load(h_ptr + i, mask=i < n) + left, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        h = torch.empty_like(x)
        grid = (triton.cdiv(n, 128),)
        twice[grid](x, h, n, BLOCK=128)
        y = torch.empty_like(x)
        add_left[grid](h, y, n, x.shape[1], BLOCK=128, num_warps=16)
        return y
