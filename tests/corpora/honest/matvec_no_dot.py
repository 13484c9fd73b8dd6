# honest | family: matmul | mechanism: matrix-vector product without tl.dot, sum of products in a two-dimensional tile
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(67, 120))

    def forward(self, v):
        return torch.mv(self.weight, v)


def get_inputs():
    return [torch.randn(120)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemv(w_ptr, v_ptr, y_ptr, N, K, BN: tl.constexpr, BK: tl.constexpr):
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN, BK), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        v = tl.load(v_ptr + rk, mask=rk < K, other=0.0)
        w = tl.load(w_ptr + rn[:, None] * K + rk[None, :], mask=(rn < N)[:, None] & (rk < K)[None, :], other=0.0)
        acc += w * v[None, :]
    tl.store(y_ptr + rn, tl.sum(acc, axis=1), mask=rn < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(67, 120))

    def forward(self, v):
        y = v.new_empty(self.weight.size(0))
        gemv[(triton.cdiv(y.numel(), 16),)](self.weight, v, y, y.numel(), v.numel(), BN=16, BK=32)
        return y
