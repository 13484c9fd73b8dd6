# program wrong | family: guards | mechanism: a window's first store goes before the start of the buffer | stage: correct | check: guards
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.pad(x, (0, 1)).diff()


def get_inputs():
    return [torch.randn(500)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def following_difference(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.load(x_ptr + i, mask=i < n, other=0.0)
    before = tl.load(x_ptr + i - 1, mask=(i > 0) & (i <= n), other=0.0)
    tl.store(y_ptr + i - 1, here - before, mask=i <= n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        y = torch.empty_like(x)
        following_difference[(triton.cdiv(n + 1, 128),)](x, y, n, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def following_difference(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = tl.load(x_ptr + i, mask=i < n, other=0.0)
    before = tl.load(x_ptr + i - 1, mask=(i > 0) & (i <= n), other=0.0)
    tl.store(y_ptr + i - 1, here - before, mask=(i > 0) & (i <= n))


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        y = torch.empty_like(x)
        following_difference[(triton.cdiv(n + 1, 128),)](x, y, n, BLOCK=128)
        return y
