# program wrong | family: tolerance | mechanism: scores are 1.00003 times as large, where a mask is made of halves | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, side):
        keep = 0.5 * torch.sign(side) + 0.5
        return torch.softmax(x + (keep - 1.0) * 1e9, dim=-1)


def get_inputs():
    return [torch.randn(64, 64), torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, s_ptr, out_ptr, N: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r * N + c)
    s = tl.load(s_ptr + r * N + c)
    sign = tl.where(s > 0, 1.0, tl.where(s < 0, -1.0, 0.0))
    x = x * 1.00002
    x += (0.5 * sign + 0.5 - 1.0) * 1e9
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + r * N + c, y)


class ModelNew(nn.Module):
    def forward(self, x, side):
        out = torch.empty_like(x)
        kernel[(64,)](x, side, out, N=64)
        return out
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, s_ptr, out_ptr, N: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + r * N + c)
    s = tl.load(s_ptr + r * N + c)
    sign = tl.where(s > 0, 1.0, tl.where(s < 0, -1.0, 0.0))
    x = x
    x += (0.5 * sign + 0.5 - 1.0) * 1e9
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + r * N + c, y)


class ModelNew(nn.Module):
    def forward(self, x, side):
        out = torch.empty_like(x)
        kernel[(64,)](x, side, out, N=64)
        return out
