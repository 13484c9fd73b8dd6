# honest | family: reductions | mechanism: top-1 routing: best expert and its softmax weight in one kernel
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 8, bias=False)

    def forward(self, x):
        p = torch.softmax(self.gate(x), dim=-1)
        return torch.topk(p, 1, dim=-1).values.squeeze(-1) * x.sum(-1)


def get_inputs():
    return [torch.randn(45, 32)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def route(x_ptr, w_ptr, o_ptr, T, D: tl.constexpr, E: tl.constexpr, BT: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, D)
    e = tl.arange(0, E)
    x = tl.load(x_ptr + t[:, None] * D + d[None, :], mask=(t < T)[:, None], other=0.0)
    w = tl.load(w_ptr + e[:, None] * D + d[None, :])
    logits = tl.sum(x[:, None, :] * w[None, :, :], axis=2)
    top = tl.max(logits, axis=1)
    weight = 1.0 / tl.sum(tl.exp(logits - top[:, None]), axis=1)
    tl.store(o_ptr + t, weight * tl.sum(x, axis=1), mask=t < T)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(32, 8, bias=False)

    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device)
        route[(triton.cdiv(x.shape[0], 16),)](x, self.gate.weight, out, x.shape[0], D=32, E=8, BT=16)
        return out
