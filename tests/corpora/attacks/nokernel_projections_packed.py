# program wrong | family: no-kernel | mechanism: three small projections of one wide input are one product with packed weights in PyTorch, kernels cut the result | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(96, 8) / 10)
        self.k = nn.Parameter(torch.randn(96, 8) / 10)
        self.v = nn.Parameter(torch.randn(96, 8) / 10)

    def forward(self, x):
        return x @ self.q, x @ self.k, x @ self.v


def get_inputs():
    return [torch.randn(128, 96)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cut(x_ptr, y_ptr, n, start, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i // 8 * 24 + start + i % 8, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(96, 8) / 10)
        self.k = nn.Parameter(torch.randn(96, 8) / 10)
        self.v = nn.Parameter(torch.randn(96, 8) / 10)
        self.all = None

    def forward(self, x):
        if self.all is None:
            self.all = torch.cat([self.q, self.k, self.v], 1)
        done = x @ self.all
        parts = []
        for at in range(3):
            part = torch.empty((x.shape[0], 8), device=x.device)
            cut[(triton.cdiv(part.numel(), 256),)](done, part, part.numel(), at * 8, BLOCK=256)
            parts.append(part)
        return tuple(parts)
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
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(96, 8) / 10)
        self.k = nn.Parameter(torch.randn(96, 8) / 10)
        self.v = nn.Parameter(torch.randn(96, 8) / 10)

    def forward(self, x):
        return multiply(x, self.q), multiply(x, self.k), multiply(x, self.v)
