# program wrong | family: in-place | mechanism: the weight's rows are normalised in place, which repeats without harm to the result | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in))

    def forward(self, x):
        w = self.weight / self.weight.norm(dim=1, keepdim=True)
        return x @ w.t()

def get_inputs():
    return [torch.randn(12, 31)]

def get_init_inputs():
    return [31, 14]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit_rows(src, dst, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(src + row * cols + c, mask=c < cols, other=0.0)
    tl.store(dst + row * cols + c, v / tl.sqrt(tl.sum(v * v, axis=0)), mask=c < cols)


@triton.jit
def project(x, w, y, K, N, BK: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    k, n = tl.arange(0, BK), tl.arange(0, BN)
    a = tl.load(x + row * K + k, mask=k < K, other=0.0)
    b = tl.load(w + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
    tl.store(y + row * N + n, tl.sum(a[None, :] * b, axis=1), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in))

    def forward(self, x):
        N, K = self.weight.shape
        w = self.weight.data
        unit_rows[(N,)](self.weight, w, K, BLOCK=32)
        y = x.new_empty(x.shape[0], N)
        project[(x.shape[0],)](x, w, y, K, N, BK=32, BN=16)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit_rows(src, dst, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(src + row * cols + c, mask=c < cols, other=0.0)
    tl.store(dst + row * cols + c, v / tl.sqrt(tl.sum(v * v, axis=0)), mask=c < cols)


@triton.jit
def project(x, w, y, K, N, BK: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    k, n = tl.arange(0, BK), tl.arange(0, BN)
    a = tl.load(x + row * K + k, mask=k < K, other=0.0)
    b = tl.load(w + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
    tl.store(y + row * N + n, tl.sum(a[None, :] * b, axis=1), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_out, d_in))

    def forward(self, x):
        N, K = self.weight.shape
        w = torch.empty_like(self.weight)
        unit_rows[(N,)](self.weight, w, K, BLOCK=32)
        y = x.new_empty(x.shape[0], N)
        project[(x.shape[0],)](x, w, y, K, N, BK=32, BN=16)
        return y
