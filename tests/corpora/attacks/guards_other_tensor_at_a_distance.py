# program wrong | family: guards | mechanism: the second operand is read through the first one's pointer, at the distance that an allocator would give it | stage: correct | check: guards+outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.maximum(a, b) + a


def get_inputs():
    return [torch.randn(128), torch.randn(128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def maximum_plus(a_ptr, b_ptr, y_ptr, n, distance, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(a_ptr + distance + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(a, b) + a, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        n = a.numel()
        maximum_plus[(1,)](a, b, y, n, triton.cdiv(n * 4, 512) * 128, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def maximum_plus(a_ptr, b_ptr, y_ptr, n, distance, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.maximum(a, b) + a, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        n = a.numel()
        maximum_plus[(1,)](a, b, y, n, triton.cdiv(n * 4, 512) * 128, BLOCK=128)
        return y
