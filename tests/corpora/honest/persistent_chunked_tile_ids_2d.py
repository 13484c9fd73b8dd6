# honest | family: persistent | mechanism: two-dimensional tiles from a flat counter in a while loop, transposed result
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (2.0 * x - 1.0).T.contiguous()


def get_inputs():
    return [torch.randn(75, 52)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def affine_transpose(x_ptr, y_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    tile = tl.program_id(0)
    cols = tl.cdiv(N, BN)
    total = tl.cdiv(M, BM) * cols
    while tile < total:
        m = (tile // cols) * BM + tl.arange(0, BM)
        n = (tile % cols) * BN + tl.arange(0, BN)
        mask = (m[:, None] < M) & (n[None, :] < N)
        x = tl.load(x_ptr + m[:, None] * N + n[None, :], mask=mask)
        tl.store(y_ptr + n[:, None] * M + m[None, :], tl.trans(2.0 * x - 1.0), mask=tl.trans(mask))
        tile += tl.num_programs(0)


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        y = torch.empty(N, M, device=x.device)
        affine_transpose[(3,)](x, y, M, N, BM=16, BN=32)
        return y
