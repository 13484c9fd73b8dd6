# program wrong | family: guards | mechanism: both results are written through the first one's pointer, as if they lay side by side | stage: correct | check: guards+outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sin(x), torch.cos(x)


def get_inputs():
    return [torch.randn(256)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sin_cos(x_ptr, s_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(s_ptr + i, tl.sin(x), mask=i < n)
    tl.store(s_ptr + n + i, tl.cos(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        s, c = torch.empty_like(x), torch.empty_like(x)
        sin_cos[(triton.cdiv(n, 128),)](x, s, c, n, BLOCK=128)
        return s, c
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sin_cos(x_ptr, s_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(s_ptr + i, tl.sin(x), mask=i < n)
    tl.store(c_ptr + i, tl.cos(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        s, c = torch.empty_like(x), torch.empty_like(x)
        sin_cos[(triton.cdiv(n, 128),)](x, s, c, n, BLOCK=128)
        return s, c
