# program wrong | family: race | mechanism: each program reads the total that the one before it is taken to have written | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cumsum(x, dim=0)


def get_inputs():
    return [torch.randn(1000)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def chained_cumsum(x_ptr, y_ptr, total_ptr, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    i = b * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    before = tl.load(total_ptr + b)
    tl.store(y_ptr + i, before + tl.cumsum(x, axis=0), mask=i < n)
    tl.store(total_ptr + b + 1, before + tl.sum(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        blocks = triton.cdiv(n, 128)
        y = torch.empty_like(x)
        total = torch.zeros(blocks + 1, device=x.device)
        chained_cumsum[(blocks,)](x, y, total, n, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cumsum_in_one(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    before = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        tl.store(y_ptr + i, before + tl.cumsum(x, axis=0), mask=i < n)
        before += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cumsum_in_one[(1,)](x, y, x.numel(), BLOCK=128)
        return y
