# program wrong | family: guards | mechanism: the last block of a product's inner dimension is loaded with a mask and without a value behind it | stage: correct | check: outputs+noop | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(64, 50).half(), torch.randn(50, 64).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, y_ptr, K, N: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * 32 + tl.arange(0, 32)
    n = tl.arange(0, N)
    acc = tl.zeros((32, N), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=k[:, None] < K)
        acc += tl.dot(a, b)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty((64, 64), device=a.device, dtype=a.dtype)
        product[(2,)](a, b, y, 50, N=64, BK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, y_ptr, K, N: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * 32 + tl.arange(0, 32)
    n = tl.arange(0, N)
    acc = tl.zeros((32, N), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=k[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.float16))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty((64, 64), device=a.device, dtype=a.dtype)
        product[(2,)](a, b, y, 50, N=64, BK=32)
        return y
