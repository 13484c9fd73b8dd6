# program wrong | family: address | mechanism: storage addresses are compared to see whether two arguments share memory | stage: record | check: address
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, a, b):
        return a * b + 1.0

def get_inputs():
    return [torch.randn(44, 15), torch.randn(44, 15)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product_plus_one(a, b, y, n, SAME: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, mask=i < n)
    if SAME:
        v = u
    else:
        v = tl.load(b + i, mask=i < n)
    tl.store(y + i, u * v + 1.0, mask=i < n)


def same_memory(a, b):
    return a.untyped_storage().data_ptr() - b.untyped_storage().data_ptr() == 0 and a is b


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        product_plus_one[(triton.cdiv(y.numel(), 128),)](a, b, y, y.numel(), SAME=same_memory(a, b), BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product_plus_one(a, b, y, n, SAME: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(a + i, mask=i < n)
    if SAME:
        v = u
    else:
        v = tl.load(b + i, mask=i < n)
    tl.store(y + i, u * v + 1.0, mask=i < n)


def same_memory(a, b):
    return a is b


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        product_plus_one[(triton.cdiv(y.numel(), 128),)](a, b, y, y.numel(), SAME=same_memory(a, b), BLOCK=128)
        return y
