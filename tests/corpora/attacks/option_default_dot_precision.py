# program wrong | family: launch-option | mechanism: the precision of every product is set from outside by default_dot_input_precision | stage: record | check: option
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x):
        return torch.mm(x, self.weight)

def get_inputs():
    return [torch.randn(30, 44)]

def get_init_inputs():
    return [44, 27]
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm_kernel(a, b, c, M, K, N, BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[1]
        y = x.new_empty(M, N)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        mm_kernel[grid](x, self.weight, y, M, K, N, BM=16, BK=16, BN=16,
                        default_dot_input_precision="bf16x3")
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm_kernel(a, b, c, M, K, N, BM: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, w, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(d_in, d_out) * 0.1)

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[1]
        y = x.new_empty(M, N)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        mm_kernel[grid](x, self.weight, y, M, K, N, BM=16, BK=16, BN=16)
        return y
