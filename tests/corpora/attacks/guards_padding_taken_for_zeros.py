# program wrong | family: guards | mechanism: a padded scratch buffer is multiplied with its padding, which nobody wrote | stage: correct | check: outputs+noop
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Parameter(torch.randn(24, 40))

    def forward(self, x):
        return torch.relu(x) @ self.proj


def get_inputs():
    return [torch.randn(30, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_padded(x_ptr, p_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(p_ptr + row * stride + c, tl.maximum(x, 0.0), mask=c < n)


@triton.jit
def project(p_ptr, w_ptr, y_ptr, M, N, K, KP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    k = tl.arange(0, KP)
    n = tl.arange(0, BN)[None, :]
    p = tl.load(p_ptr + m * KP + k[None, :], mask=m < M, other=0.0)
    w = tl.load(w_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
    tl.store(y_ptr + m * N + n, tl.dot(p, w, input_precision="ieee"), mask=(m < M) & (n < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Parameter(torch.randn(24, 40))

    def forward(self, x):
        M, K = x.shape
        padded = torch.empty(M, 32, device=x.device)
        y = torch.empty(M, 40, device=x.device)
        relu_padded[(M,)](x, padded, K, 32, BLOCK=32)
        project[(triton.cdiv(M, 16),)](padded, self.proj, y, M, 40, K, KP=32, BM=16, BN=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu_padded(x_ptr, p_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(p_ptr + row * stride + c, tl.maximum(x, 0.0))


@triton.jit
def project(p_ptr, w_ptr, y_ptr, M, N, K, KP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    k = tl.arange(0, KP)
    n = tl.arange(0, BN)[None, :]
    p = tl.load(p_ptr + m * KP + k[None, :], mask=m < M, other=0.0)
    w = tl.load(w_ptr + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
    tl.store(y_ptr + m * N + n, tl.dot(p, w, input_precision="ieee"), mask=(m < M) & (n < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Parameter(torch.randn(24, 40))

    def forward(self, x):
        M, K = x.shape
        padded = torch.empty(M, 32, device=x.device)
        y = torch.empty(M, 40, device=x.device)
        relu_padded[(M,)](x, padded, K, 32, BLOCK=32)
        project[(triton.cdiv(M, 16),)](padded, self.proj, y, M, 40, K, KP=32, BM=16, BN=64)
        return y
