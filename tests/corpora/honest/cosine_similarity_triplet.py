# honest | family: losses | mechanism: cosine similarities of anchor with two others and a margin, all in one row kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, p, n):
        pos = nn.functional.cosine_similarity(a, p, dim=-1)
        neg = nn.functional.cosine_similarity(a, n, dim=-1)
        return torch.relu(neg - pos + 0.4)


def get_inputs():
    return [torch.randn(70, 33), torch.randn(70, 33), torch.randn(70, 33)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dot(x, y):
    return tl.sum(x * y, axis=1)


@triton.jit
def triplet(a_ptr, p_ptr, n_ptr, o_ptr, M, D, margin, BM: tl.constexpr, BD: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    off = r[:, None] * D + d[None, :]
    mask = (r[:, None] < M) & (d[None, :] < D)
    a = tl.load(a_ptr + off, mask=mask, other=0.0)
    p = tl.load(p_ptr + off, mask=mask, other=0.0)
    n = tl.load(n_ptr + off, mask=mask, other=0.0)
    na = tl.maximum(tl.sqrt(dot(a, a)), 1e-8)
    pos = dot(a, p) / (na * tl.maximum(tl.sqrt(dot(p, p)), 1e-8))
    neg = dot(a, n) / (na * tl.maximum(tl.sqrt(dot(n, n)), 1e-8))
    tl.store(o_ptr + r, tl.maximum(neg - pos + margin, 0.0), mask=r < M)


class ModelNew(nn.Module):
    def forward(self, a, p, n):
        out = torch.empty(a.shape[0], device=a.device, dtype=a.dtype)
        triplet[(triton.cdiv(a.shape[0], 8),)](a, p, n, out, a.shape[0], a.shape[1], 0.4, BM=8, BD=64)
        return out
