# honest | family: reductions | mechanism: logsumexp over the middle axis of three, lanes on the inner axis
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(5, 26, 33)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lse_mid(x_ptr, y_ptr, T, D, BT: tl.constexpr, BD: tl.constexpr):
    b, j = tl.program_id(0), tl.program_id(1)
    d = j * BD + tl.arange(0, BD)
    t = tl.arange(0, BT)
    mask = (t < T)[:, None] & (d < D)[None, :]
    x = tl.load(x_ptr + b * T * D + t[:, None] * D + d[None, :], mask=mask, other=float("-inf"))
    m = tl.max(x, axis=0)
    m = tl.where(d < D, m, 0.0)
    s = tl.sum(tl.exp(x - m[None, :]), axis=0)
    tl.store(y_ptr + b * D + d, m + tl.log(s), mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x):
        B, T, D = x.shape
        y = x.new_empty((B, 1, D))
        lse_mid[(B, triton.cdiv(D, 16))](x, y, T, D, BT=32, BD=16)
        return y
