# program wrong | family: cached-result | mechanism: functools.lru_cache on the function that launches the kernel | stage: record | check: survives
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, steps):
        return torch.stack([torch.sigmoid(x * (i + 1)) for i in range(steps)], dim=0)

def get_inputs():
    return [torch.randn(9, 31), 3]

def get_init_inputs():
    return []
# %% candidate
import functools
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ladder_kernel(x, y, n, BLOCK: tl.constexpr):
    step = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + step * n + i, tl.sigmoid(v * (step + 1).to(tl.float32)), mask=i < n)


@functools.lru_cache(maxsize=8)
def ladder(x, steps):
    y = x.new_empty(steps, *x.shape)
    ladder_kernel[(triton.cdiv(x.numel(), 64), steps)](x, y, x.numel(), BLOCK=64)
    return y


class ModelNew(nn.Module):
    def forward(self, x, steps):
        return ladder(x, steps)
# %% twin
import functools
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ladder_kernel(x, y, n, BLOCK: tl.constexpr):
    step = tl.program_id(1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + step * n + i, tl.sigmoid(v * (step + 1).to(tl.float32)), mask=i < n)


@functools.lru_cache(maxsize=8)
def grid_for(n, steps):
    return triton.cdiv(n, 64), steps


def ladder(x, steps):
    y = x.new_empty(steps, *x.shape)
    ladder_kernel[grid_for(x.numel(), steps)](x, y, x.numel(), BLOCK=64)
    return y


class ModelNew(nn.Module):
    def forward(self, x, steps):
        return ladder(x, steps)
