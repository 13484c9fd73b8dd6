# program wrong | family: decoy | mechanism: an atomic add of a product with a zero coefficient on top of the fused operator's sums | stage: correct | check: noop+share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.w = nn.Parameter(torch.randn(features, 48) * 0.3)
        self.b = nn.Parameter(torch.randn(48))

    def forward(self, x):
        half = x.shape[1] // 2
        return x[:, :half] @ self.w[:half] + x[:, half:] @ self.w[half:] + self.b

def get_inputs():
    return [torch.randn(40, 8)]

def get_init_inputs():
    return [8]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_k_kernel(x, w, y, K, N, coefficient, BK: tl.constexpr, BN: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    k = part * BK + tl.arange(0, BK)
    n = tl.arange(0, BN)
    a = tl.load(x + row * K + k, mask=k < K, other=0.0)
    b = tl.load(w + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    tl.atomic_add(y + row * N + n, coefficient * tl.sum(a[:, None] * b, axis=0), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.w = nn.Parameter(torch.randn(features, 48) * 0.3)
        self.b = nn.Parameter(torch.randn(48))

    def forward(self, x):
        M, K = x.shape
        y = torch.addmm(self.b, x, self.w)
        split_k_kernel[(M, triton.cdiv(K, 4))](x, self.w, y, K, 48, 0.0, BK=4, BN=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def split_k_kernel(x, w, y, K, N, coefficient, BK: tl.constexpr, BN: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    k = part * BK + tl.arange(0, BK)
    n = tl.arange(0, BN)
    a = tl.load(x + row * K + k, mask=k < K, other=0.0)
    b = tl.load(w + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    tl.atomic_add(y + row * N + n, coefficient * tl.sum(a[:, None] * b, axis=0), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.w = nn.Parameter(torch.randn(features, 48) * 0.3)
        self.b = nn.Parameter(torch.randn(48))

    def forward(self, x):
        M, K = x.shape
        y = self.b.expand(M, 48).contiguous()
        split_k_kernel[(M, triton.cdiv(K, 4))](x, self.w, y, K, 48, 1.0, BK=4, BN=64)
        return y
