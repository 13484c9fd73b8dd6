# honest | family: hybrid | mechanism: the first of two products by PyTorch as the reference has it, the second by Triton, though one would do
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(48, 160) / 7)
        self.b = nn.Parameter(torch.randn(160, 48) / 13)

    def forward(self, x):
        return (x @ self.a) @ self.b


def get_inputs():
    return [torch.randn(80, 48)]


def get_init_inputs():
    return []
# %% candidate
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
        self.a = nn.Parameter(torch.randn(48, 160) / 7)
        self.b = nn.Parameter(torch.randn(160, 48) / 13)

    def forward(self, x):
        return multiply(x @ self.a, self.b)
