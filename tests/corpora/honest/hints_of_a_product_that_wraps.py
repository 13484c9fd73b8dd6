# honest | family: language | mechanism: rows wrap around at the end, and are promised to be contiguous blocks, as in Triton's tutorial
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(72, 64).half(), torch.randn(64, 80).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, y_ptr, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    am = tl.max_contiguous(tl.multiple_of(m % M, BM), BM)
    bn = tl.max_contiguous(tl.multiple_of(n % N, BN), BN)
    a = tl.load(a_ptr + am[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + bn[None, :])
    y = tl.dot(a, b).to(tl.float16)
    tl.store(y_ptr + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty((72, 80), device=a.device, dtype=a.dtype)
        product[(3, 3)](a, b, y, 72, 80, K=64, BM=32, BN=32)
        return y
