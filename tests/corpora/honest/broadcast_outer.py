# honest | family: shapes | mechanism: broadcasting of (N, 1, D) against (1, M, D) by index arithmetic
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return (a.unsqueeze(1) - b.unsqueeze(0)).abs().sum(-1)


def get_inputs():
    return [torch.randn(21, 13), torch.randn(34, 13)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pairwise_l1(a_ptr, b_ptr, o_ptr, N, M, D, BN: tl.constexpr, BM: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)[:, None]
    m = tl.program_id(1) * BM + tl.arange(0, BM)[None, :]
    acc = tl.zeros((BN, BM), dtype=tl.float32)
    for d in range(D):
        a = tl.load(a_ptr + n * D + d, mask=n < N, other=0.0)
        b = tl.load(b_ptr + m * D + d, mask=m < M, other=0.0)
        acc += tl.abs(a - b)
    tl.store(o_ptr + n * M + m, acc, mask=(n < N) & (m < M))


class ModelNew(nn.Module):
    def forward(self, a, b):
        N, D = a.shape
        M = b.shape[0]
        out = torch.empty(N, M, device=a.device, dtype=a.dtype)
        pairwise_l1[(triton.cdiv(N, 16), triton.cdiv(M, 16))](a, b, out, N, M, D, BN=16, BM=16)
        return out
