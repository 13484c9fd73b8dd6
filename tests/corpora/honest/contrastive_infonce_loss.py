# honest | family: losses | mechanism: InfoNCE over a similarity matrix, symmetric cross entropy with labels on the diagonal
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        a = nn.functional.normalize(a, dim=-1)
        b = nn.functional.normalize(b, dim=-1)
        logits = a @ b.t() / 0.2
        labels = torch.arange(a.shape[0], device=a.device)
        return (nn.functional.cross_entropy(logits, labels) + nn.functional.cross_entropy(logits.t(), labels)) / 2


def get_inputs():
    return [torch.randn(24, 20), torch.randn(24, 20)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def info_nce(a_ptr, b_ptr, out_ptr, N, D, B: tl.constexpr, BD: tl.constexpr):
    r = tl.arange(0, B)
    d = tl.arange(0, BD)
    mask = (r[:, None] < N) & (d[None, :] < D)
    a = tl.load(a_ptr + r[:, None] * D + d[None, :], mask=mask, other=0.0)
    b = tl.load(b_ptr + r[:, None] * D + d[None, :], mask=mask, other=0.0)
    a = a / tl.maximum(tl.sqrt(tl.sum(a * a, 1)), 1e-12)[:, None]
    b = b / tl.maximum(tl.sqrt(tl.sum(b * b, 1)), 1e-12)[:, None]
    s = tl.dot(a, tl.trans(b), input_precision="ieee") / 0.2
    ok = (r[:, None] < N) & (r[None, :] < N)
    s = tl.where(ok, s, -1e9)
    diag = tl.sum(tl.where(r[:, None] == r[None, :], s, 0.0), axis=1)
    top_r = tl.max(s, 1)
    top_c = tl.max(s, 0)
    lse_r = top_r + tl.log(tl.sum(tl.exp(s - top_r[:, None]), 1))
    lse_c = top_c + tl.log(tl.sum(tl.exp(s - top_c[None, :]), 0))
    loss = tl.where(r < N, lse_r + lse_c - 2 * diag, 0.0)
    tl.store(out_ptr, tl.sum(loss, 0) / (2 * N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = torch.empty((), device=a.device)
        info_nce[(1,)](a, b, out, a.shape[0], a.shape[1], B=32, BD=32)
        return out
