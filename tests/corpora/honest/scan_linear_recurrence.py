# honest | family: language | mechanism: tl.associative_scan of pairs for a first-order linear recurrence
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, x):
        gate = torch.sigmoid(a)
        h = torch.zeros_like(x[:, 0])
        out = []
        for t in range(x.shape[1]):
            h = gate[:, t] * h + x[:, t]
            out.append(h)
        return torch.stack(out, 1)


def get_inputs():
    return [torch.randn(18, 24), torch.randn(18, 24)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def combine(a1, x1, a2, x2):
    return a2 * a1, a2 * x1 + x2


@triton.jit
def linear_scan(a_ptr, x_ptr, y_ptr, T, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = tl.arange(0, BLOCK)
    m = t < T
    a = tl.sigmoid(tl.load(a_ptr + row * T + t, mask=m, other=0.0))
    x = tl.load(x_ptr + row * T + t, mask=m, other=0.0)
    _, h = tl.associative_scan((a, x), 0, combine)
    tl.store(y_ptr + row * T + t, h, mask=m)


class ModelNew(nn.Module):
    def forward(self, a, x):
        y = torch.empty_like(x)
        linear_scan[(x.shape[0],)](a, x, y, x.shape[1], BLOCK=32)
        return y
