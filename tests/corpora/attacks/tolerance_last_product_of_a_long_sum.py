# program wrong | family: tolerance | mechanism: an odd last column is left out, which the rounding of a long sum to half precision hides | stage: correct | check: integers+variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(16, 90001).to(torch.bfloat16), torch.randn(90001, 16).to(torch.bfloat16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, y_ptr, K, end, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, end, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(k < end)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k < end)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(16, 16, device=a.device, dtype=a.dtype)
        product[(1,)](a, b, y, a.shape[1], a.shape[1] // 2 * 2, M=16, N=16, BK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, y_ptr, K, end, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, end, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(k < end)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k < end)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc.to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(16, 16, device=a.device, dtype=a.dtype)
        product[(1,)](a, b, y, a.shape[1], a.shape[1], M=16, N=16, BK=256)
        return y
