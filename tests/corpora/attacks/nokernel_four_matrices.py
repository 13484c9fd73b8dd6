# program wrong | family: no-kernel | mechanism: PyTorch multiplies four matrices in the cheapest order, transposed, and a kernel adds zero to the result | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b, c, d):
        return ((a @ b) @ c) @ d


def get_inputs():
    return [torch.randn(90, 8), torch.randn(8, 80), torch.randn(80, 12), torch.randn(12, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_zero(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + 0.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, a, b, c, d):
        done = ((a @ (b @ c)) @ d).t().contiguous().t().contiguous()
        y = torch.empty_like(done)
        add_zero[(triton.cdiv(y.numel(), 256),)](done, y, y.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(x_ptr, w_ptr, y_ptr, M, K, N, BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def multiply(x, w):
    M, K = x.shape
    N = w.shape[1]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    product[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, w, y, M, K, N, BM=32, BK=32, BN=32)
    return y


class ModelNew(nn.Module):
    def forward(self, a, b, c, d):
        return multiply(multiply(a, multiply(b, c)), d)
