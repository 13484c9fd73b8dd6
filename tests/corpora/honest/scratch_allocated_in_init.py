# honest | family: host | mechanism: workspace registered in __init__ as a non-persistent buffer and overwritten by each call
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True)


def get_inputs():
    return [torch.randn(70, 44)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_means(x_ptr, mean_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros([BN], tl.float32)
    for start in range(0, M, BM):
        r = start + tl.arange(0, BM)
        acc += tl.sum(tl.load(x_ptr + r[:, None] * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N), other=0.0), axis=0)
    tl.store(mean_ptr + c, acc / M, mask=c < N)


@triton.jit
def subtract(x_ptr, mean_ptr, y_ptr, n, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=m) - tl.load(mean_ptr + i % N, mask=m), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("workspace", torch.empty(64), persistent=False)

    def forward(self, x):
        M, N = x.shape
        y = torch.empty_like(x)
        column_means[(triton.cdiv(N, 16),)](x, self.workspace, M, N, BM=32, BN=16)
        subtract[(triton.cdiv(M * N, 512),)](x, self.workspace, y, M * N, N, B=512)
        return y
