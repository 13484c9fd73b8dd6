# program wrong | family: no-kernel | mechanism: PyTorch takes the mean over positions before the linear layer, a kernel copies the few results | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(40, 56)

    def forward(self, x):
        return self.proj(x).mean(1)


def get_inputs():
    return [torch.randn(6, 50, 40)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(40, 56)

    def forward(self, x):
        done = self.proj(x.mean(1))
        y = torch.empty_like(done)
        copy[(triton.cdiv(y.numel(), 256),)](done, y, y.numel(), BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_linear(x_ptr, w_ptr, b_ptr, y_ptr, T, K, N, BT: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(0)
    t = tl.arange(0, BT)
    k = tl.arange(0, BK)
    n = tl.arange(0, BN)
    x = tl.load(x_ptr + b * T * K + t[:, None] * K + k[None, :], mask=(t[:, None] < T) & (k[None, :] < K), other=0.0)
    mean = tl.sum(x, axis=0) / T
    w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
    y = tl.sum(w * mean[None, :], axis=1) + tl.load(b_ptr + n, mask=n < N)
    tl.store(y_ptr + b * N + n, y, mask=n < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(40, 56)

    def forward(self, x):
        B, T, K = x.shape
        N = self.proj.out_features
        y = torch.empty((B, N), device=x.device)
        mean_linear[(B,)](x, self.proj.weight, self.proj.bias, y, T, K, N, BT=64, BK=64, BN=64)
        return y
