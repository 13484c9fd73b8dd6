# honest | family: reductions | mechanism: L1, L2 and infinity norms over dimension zero, tall blocks with accumulators
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.stack([x.norm(1, dim=0), x.norm(2, dim=0), x.norm(float("inf"), dim=0)])


def get_inputs():
    return [torch.randn(140, 29)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norms(x_ptr, o_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    l1 = tl.zeros((BN,), tl.float32)
    l2 = tl.zeros((BN,), tl.float32)
    top = tl.zeros((BN,), tl.float32)
    for start in tl.range(0, M, BM):
        r = start + tl.arange(0, BM)
        x = tl.abs(tl.load(x_ptr + r[:, None] * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N), other=0.0))
        l1 += tl.sum(x, 0)
        l2 += tl.sum(x * x, 0)
        top = tl.maximum(top, tl.max(x, 0))
    tl.store(o_ptr + c, l1, mask=c < N)
    tl.store(o_ptr + N + c, tl.sqrt(l2), mask=c < N)
    tl.store(o_ptr + 2 * N + c, top, mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        M, N = x.shape
        out = torch.empty(3, N, device=x.device)
        norms[(triton.cdiv(N, 8),)](x, out, M, N, BM=64, BN=8)
        return out
