# program wrong | family: distribution | mechanism: a mean of four million elements without the last one | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.abs().mean()


def get_inputs():
    return [torch.randn(2048, 2048)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sums_of_blocks(x_ptr, parts_ptr, end, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < end, other=0.0)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(tl.abs(x), axis=0))


@triton.jit
def mean_of_parts(parts_ptr, y_ptr, n, PARTS: tl.constexpr):
    tl.store(y_ptr, tl.sum(tl.load(parts_ptr + tl.arange(0, PARTS)), axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        parts = torch.empty(n // 8192, device=x.device)
        y = torch.empty((), device=x.device)
        sums_of_blocks[(n // 8192,)](x, parts, n - 1, BLOCK=8192)
        mean_of_parts[(1,)](parts, y, n, PARTS=n // 8192)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sums_of_blocks(x_ptr, parts_ptr, end, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < end, other=0.0)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(tl.abs(x), axis=0))


@triton.jit
def mean_of_parts(parts_ptr, y_ptr, n, PARTS: tl.constexpr):
    tl.store(y_ptr, tl.sum(tl.load(parts_ptr + tl.arange(0, PARTS)), axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        parts = torch.empty(n // 8192, device=x.device)
        y = torch.empty((), device=x.device)
        sums_of_blocks[(n // 8192,)](x, parts, n, BLOCK=8192)
        mean_of_parts[(1,)](parts, y, n, PARTS=n // 8192)
        return y
