# program wrong | family: lazy | mechanism: a tensor subclass without memory, made by _make_wrapper_subclass, computes at its first operator | stage: record | check: unsupported
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x.sigmoid().square()

def get_inputs():
    return [torch.randn(18, 60)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sigmoid_squared(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.sigmoid(v) * tl.sigmoid(v), mask=i < n)


def compute(x):
    y = torch.empty_like(x)
    sigmoid_squared[(triton.cdiv(y.numel(), 128),)](x, y, y.numel(), BLOCK=128)
    return y


class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        t = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)
        t.source = x
        return t

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [compute(a.source) if isinstance(a, Later) else a for a in args]
        return func(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def forward(self, x):
        return Later(x)
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sigmoid_squared(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.sigmoid(v) * tl.sigmoid(v), mask=i < n)


def compute(x):
    y = torch.empty_like(x)
    sigmoid_squared[(triton.cdiv(y.numel(), 128),)](x, y, y.numel(), BLOCK=128)
    return y


class Later(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        t = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)
        t.source = x
        return t


class ModelNew(nn.Module):
    def forward(self, x):
        return compute(x)
