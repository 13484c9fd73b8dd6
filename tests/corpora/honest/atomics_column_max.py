# honest | family: atomics | mechanism: per-column maximum with atomic_max into a buffer filled with -inf
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.amax(x * x - x, dim=0)


def get_inputs():
    return [torch.randn(150, 77)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def col_max(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    v = tl.load(x + rm[:, None] * N + rn[None, :], mask=mask, other=0.0)
    v = tl.where(mask, v * v - v, -float("inf"))
    tl.atomic_max(out + rn, tl.max(v, axis=0), mask=rn < N)


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        out = torch.full((N,), float("-inf"), device=x.device, dtype=x.dtype)
        col_max[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, out, M, N, BM=32, BN=32)
        return out
