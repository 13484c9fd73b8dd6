# program wrong | family: fallback | mechanism: a launch whose grid is a float raises inside Triton and a decorator answers with the operator | stage: record | check: raised
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, a, b):
        return torch.cosine_similarity(a, b, dim=1)

def get_inputs():
    return [torch.randn(70, 33), torch.randn(70, 33)]

def get_init_inputs():
    return []
# %% candidate
import functools
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine_rows(a, b, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    u = tl.load(a + row * cols + c, mask=c < cols, other=0.0)
    v = tl.load(b + row * cols + c, mask=c < cols, other=0.0)
    n = tl.maximum(tl.sqrt(tl.sum(u * u, axis=0)), 1e-8) * tl.maximum(tl.sqrt(tl.sum(v * v, axis=0)), 1e-8)
    tl.store(y + row, tl.sum(u * v, axis=0) / n)


def or_eager(eager):
    def wrap(fast):
        @functools.wraps(fast)
        def call(*args):
            try:
                return fast(*args)
            except Exception:
                return eager(*args)
        return call
    return wrap


@or_eager(lambda a, b: torch.cosine_similarity(a, b, dim=1))
def cosine(a, b):
    y = a.new_empty(a.shape[0])
    cosine_rows[(a.numel() / a.shape[1],)](a, b, y, a.shape[1], BLOCK=64)
    return y


class ModelNew(nn.Module):
    def forward(self, a, b):
        return cosine(a, b)
# %% twin
import functools
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine_rows(a, b, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    u = tl.load(a + row * cols + c, mask=c < cols, other=0.0)
    v = tl.load(b + row * cols + c, mask=c < cols, other=0.0)
    n = tl.maximum(tl.sqrt(tl.sum(u * u, axis=0)), 1e-8) * tl.maximum(tl.sqrt(tl.sum(v * v, axis=0)), 1e-8)
    tl.store(y + row, tl.sum(u * v, axis=0) / n)


def or_eager(eager):
    def wrap(fast):
        @functools.wraps(fast)
        def call(*args):
            try:
                return fast(*args)
            except Exception:
                return eager(*args)
        return call
    return wrap


@or_eager(lambda a, b: torch.cosine_similarity(a, b, dim=1))
def cosine(a, b):
    y = a.new_empty(a.shape[0])
    cosine_rows[(a.numel() // a.shape[1],)](a, b, y, a.shape[1], BLOCK=64)
    return y


class ModelNew(nn.Module):
    def forward(self, a, b):
        return cosine(a, b)
